package org.regatta.bench.bloat;

import java.sql.Connection;
import java.sql.Driver;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/**
 * Rewrites all of the library that `bloat` rewrites, a database, and runs it: the JVM verifies what it loads. The
 * library itself is on the class path for its texts and scripts; of its classes only the rewritten ones are loaded.
 */
public final class RunsRewritten {
    private RunsRewritten() {}

    public static void main(String[] args) throws Exception {
        Rewriter rewriter = new Rewriter(new Changes());
        Map<String, byte[]> rewritten = new TreeMap<>();
        for (Map.Entry<String, byte[]> entry : Library.classFiles().entrySet()) {
            rewritten.put(entry.getKey(), rewriter.rewrite(entry.getValue()));
        }
        Loader loader = new Loader(rewritten);
        System.out.println("verified " + loader.verifyAll() + " of " + rewritten.size());
        long before = Counters.sum();
        Driver driver = (Driver) loader.loadClass("org.hsqldb.jdbc.JDBCDriver").getConstructor().newInstance();
        try (Connection connection = driver.connect("jdbc:hsqldb:mem:rewritten", new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute("create table numbers (n integer primary key, square bigint)");
            for (int i = 0; i < 500; i++) {
                statement.executeUpdate("insert into numbers values (" + i + ", " + (long) i * i + ")");
            }
            statement.executeUpdate("update numbers set square = -square where mod(n, 3) = 0");
            try (ResultSet sums = statement.executeQuery(
                    "select mod(a.n, 3) as rest, sum(a.square), count(b.n) from numbers a"
                            + " left join numbers b on b.n = a.n + 250 group by mod(a.n, 3) order by rest")) {
                while (sums.next()) {
                    System.out.println(sums.getInt(1) + " " + sums.getLong(2) + " " + sums.getInt(3));
                }
            }
        }
        System.out.println("counted " + (Counters.sum() > before));
    }

    /** Loads rewritten classes, and nothing else of the same names. */
    private static final class Loader extends ClassLoader {
        private final Map<String, byte[]> classFiles;

        Loader(Map<String, byte[]> classFiles) {
            super(RunsRewritten.class.getClassLoader());
            this.classFiles = classFiles;
        }

        /** Links every class, but those that need a library which is not there. */
        int verifyAll() {
            int verified = 0;
            for (String name : classFiles.keySet()) {
                try {
                    loadClass(name.replace('/', '.')).getDeclaredMethods();
                    verified++;
                } catch (NoClassDefFoundError | ClassNotFoundException e) {
                    System.err.println(name + ": " + e);
                }
            }
            return verified;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            byte[] classFile = classFiles.get(name.replace('.', '/'));
            if (classFile == null) {
                return super.loadClass(name, resolve);
            }
            Class<?> loaded = findLoadedClass(name);
            return loaded == null ? defineClass(name, classFile, 0, classFile.length) : loaded;
        }
    }
}
