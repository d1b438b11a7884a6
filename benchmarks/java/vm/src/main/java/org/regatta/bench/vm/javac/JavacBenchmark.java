package org.regatta.bench.vm.javac;

import java.io.IOException;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import javax.lang.model.SourceVersion;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.ToolProvider;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.UnsupportedRuntimeException;
import org.regatta.bench.WrongResultException;
import org.regatta.bench.inputs.SourceTree;

/**
 * The compiler of the running JVM compiles a seeded source tree from memory to memory. The output is the outline of the
 * class files, because their bytes differ between releases of javac, and the return values of some methods.
 *
 * <p>Stresses: trees, symbols and types that live for most of an iteration, many classes of code for the JIT to
 * compile, and short strings.
 */
public final class JavacBenchmark implements Benchmark {
    public static final int MAX_SIZE = 1000;
    private static final int SIZE_PER_CLASS = 2;
    private static final int RELEASE = 17;

    /** Maximum number of classes to load and verify after an iteration, and of files whose methods are called. */
    private static final int LINKED_CLASSES = 50;

    private List<SourceTree.Unit> sources;
    private MemoryFiles files;
    private DiagnosticCollector<JavaFileObject> told;
    private StringWriter crash;
    private boolean succeeded;

    @Override
    public void probe() throws UnsupportedRuntimeException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        if (compiler == null) {
            throw new UnsupportedRuntimeException(
                    "this runtime has no module jdk.compiler (javax.tools.ToolProvider returns no compiler)");
        }
        int newest = SourceVersion.latest().ordinal();
        if (newest < RELEASE) {
            throw new UnsupportedRuntimeException("this runtime's compiler compiles for releases up to " + newest
                    + ", and the sources are of release " + RELEASE);
        }
    }

    @Override
    public void setup(int size, long seed) throws UnsupportedRuntimeException {
        probe();
        sources = new SourceTree(new Random(seed), 1 + size / SIZE_PER_CLASS).units();
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        files = null;
        told = null;
    }

    @Override
    public long iterate(int iteration) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        told = new DiagnosticCollector<>();
        crash = new StringWriter();
        try (JavaFileManager library = compiler.getStandardFileManager(told, null, null)) {
            files = new MemoryFiles(library);
            List<JavaFileObject> units = new ArrayList<>();
            for (SourceTree.Unit source : sources) {
                units.add(new MemoryFiles.Source(source));
            }
            List<String> options = List.of("--release", String.valueOf(RELEASE), "-proc:none", "-g");
            succeeded = compiler.getTask(crash, files, told, options, null, units).call();
        }
        long bytes = 0;
        for (byte[] classFile : files.classFiles().values()) {
            bytes += classFile.length;
        }
        return bytes;
    }

    @Override
    public void digest(OutputDigest out) throws WrongResultException, IOException {
        for (Diagnostic<? extends JavaFileObject> diagnostic : told.getDiagnostics()) {
            if (diagnostic.getKind() == Diagnostic.Kind.ERROR) {
                throw new WrongResultException("the source tree does not compile: " + diagnostic.getMessage(null));
            }
        }
        if (!succeeded) {
            // The compiler catches and prints its errors, including an exhausted heap.
            throw new IllegalStateException("the compiler ended with " + crash);
        }
        Map<String, byte[]> classFiles = files.classFiles();
        Verifier verifier = new Verifier(classFiles);
        link(classFiles, verifier);
        for (byte[] classFile : classFiles.values()) {
            ClassOutline.digest(classFile, out);
        }
        for (SourceTree.Unit source : sources.subList(0, Math.min(LINKED_CLASSES, sources.size()))) {
            CompiledMethods.digest(load(CompiledMethods.className(source), verifier), source, out);
        }
    }

    /** Let the JVM verify some of the classes, in a loader that is dropped afterwards. */
    private static void link(Map<String, byte[]> classFiles, Verifier verifier) throws WrongResultException {
        int stride = 1 + classFiles.size() / LINKED_CLASSES;
        int at = 0;
        for (String name : classFiles.keySet()) {
            if (at++ % stride == 0) {
                load(name, verifier);
            }
        }
    }

    private static Class<?> load(String name, Verifier verifier) throws WrongResultException {
        try {
            return Class.forName(name, true, verifier);
        } catch (ClassNotFoundException | VerifyError | ClassFormatError e) {
            throw new WrongResultException("the compiled class " + name + " is not valid: " + e);
        }
    }

    private static final class Verifier extends ClassLoader {
        private final Map<String, byte[]> classFiles;

        Verifier(Map<String, byte[]> classFiles) {
            super(null);
            this.classFiles = classFiles;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            byte[] classFile = classFiles.get(name);
            if (classFile == null) {
                throw new ClassNotFoundException(name);
            }
            return defineClass(name, classFile, 0, classFile.length);
        }
    }
}
