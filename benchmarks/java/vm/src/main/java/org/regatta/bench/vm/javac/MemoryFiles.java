package org.regatta.bench.vm.javac;

import java.io.ByteArrayOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.CharBuffer;
import java.util.Map;
import java.util.TreeMap;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import org.regatta.bench.inputs.SourceTree;

/** Stores the class files that a compiler writes, and delegates all other operations to the compiler's file manager. */
final class MemoryFiles extends ForwardingJavaFileManager<JavaFileManager> {
    private final Map<String, byte[]> classFiles = new TreeMap<>();

    MemoryFiles(JavaFileManager library) {
        super(library);
    }

    /** By binary name, sorted. */
    Map<String, byte[]> classFiles() {
        return classFiles;
    }

    @Override
    public JavaFileObject getJavaFileForOutput(
            Location location, String className, JavaFileObject.Kind kind, FileObject sibling) {
        return new Output(className, kind);
    }

    /** A file of a source tree. */
    static final class Source extends SimpleJavaFileObject {
        private final char[] text;

        Source(SourceTree.Unit unit) {
            super(URI.create("memory:///" + unit.path()), Kind.SOURCE);
            text = unit.text();
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return CharBuffer.wrap(text);
        }
    }

    private final class Output extends SimpleJavaFileObject {
        private final String className;

        Output(String className, Kind kind) {
            super(URI.create("memory:///" + className.replace('.', '/') + kind.extension), kind);
            this.className = className;
        }

        @Override
        public OutputStream openOutputStream() {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            return new FilterOutputStream(bytes) {
                @Override
                public void write(byte[] from, int offset, int length) {
                    bytes.write(from, offset, length);
                }

                @Override
                public void close() throws IOException {
                    super.close();
                    classFiles.put(className, bytes.toByteArray());
                }
            };
        }
    }
}
