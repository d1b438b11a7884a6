package org.regatta.bench.bloat;

import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarInputStream;

/** The class files to rewrite: those of a database, embedded in this jar. */
final class Library {
    private static final String SUFFIX = ".class";

    private Library() {}

    /** @return the class files by the internal names of the classes, sorted by name */
    static Map<String, byte[]> classFiles() throws IOException {
        Map<String, byte[]> files = new TreeMap<>();
        try (InputStream in = Library.class.getResourceAsStream("library.jar");
                JarInputStream jar = new JarInputStream(in)) {
            for (JarEntry entry = jar.getNextJarEntry(); entry != null; entry = jar.getNextJarEntry()) {
                String name = entry.getName();
                if (name.endsWith(SUFFIX) && !name.startsWith("META-INF/") && !name.equals("module-info.class")) {
                    files.put(name.substring(0, name.length() - SUFFIX.length()), jar.readAllBytes());
                }
            }
        }
        return files;
    }
}
