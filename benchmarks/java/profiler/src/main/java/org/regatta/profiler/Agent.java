package org.regatta.profiler;

import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import java.security.ProtectionDomain;

/**
 * Counts the calls of an application to system classes: {@code -javaagent:regatta-profiler.jar=FILE}.
 *
 * <p>Application classes are rewritten at load time; system classes stay unchanged. The counts are written to FILE when the JVM
 * ends normally. Output and exit code of the application do not change.
 */
public final class Agent {
    private Agent() {}

    /** @param file path of the profile; {@link Profile} describes its format */
    public static void premain(String file, Instrumentation instrumentation) {
        if (file == null || file.isEmpty()) {
            System.err.println("error: expected -javaagent:regatta-profiler.jar=FILE, got no FILE");
            // The application has not started yet, so that no work is lost.
            Runtime.getRuntime().halt(2);
        }
        // Absolute now, so that the application cannot change it.
        Path path = Path.of(file).toAbsolutePath();
        Rewriter rewriter = new Rewriter(new ClassFiles());
        instrumentation.addTransformer(new Transformer(rewriter));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> write(path), "regatta-profiler"));
    }

    private static void write(Path path) {
        try {
            Profile.write(path);
        } catch (IOException | RuntimeException e) {
            // The reader of the profile reports its absence.
            System.err.println("error: cannot write the profile: " + e);
        }
    }

    private static final class Transformer implements ClassFileTransformer {
        private final Rewriter rewriter;

        Transformer(Rewriter rewriter) {
            this.rewriter = rewriter;
        }

        @Override
        public byte[] transform(
                ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
            if (ClassFiles.isOfSystem(loader)) {
                return null;
            }
            try {
                return rewriter.rewrite(loader, bytes);
            } catch (RuntimeException | LinkageError | StackOverflowError e) {
                // Without a name: a hidden class or a lambda of an old release.
                Counts.notProfiled(name == null ? "(no name)" : name.replace('/', '.'), e);
                return null;
            }
        }
    }
}
