package org.regatta.profiler;

import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import java.security.ProtectionDomain;

/**
 * Counts the calls of an application into system classes: {@code -javaagent:regatta-profiler.jar=FILE}.
 *
 * <p>Classes of the application are rewritten while they are loaded; those of the system stay as they are. The counts
 * are written to FILE when the JVM ends in order. Neither the output nor the exit code of the application changes.
 */
public final class Agent {
    private Agent() {}

    /** @param file where to write the profile, as {@link Profile} describes it */
    public static void premain(String file, Instrumentation instrumentation) {
        if (file == null || file.isEmpty()) {
            System.err.println("error: expected -javaagent:regatta-profiler.jar=FILE, got no FILE");
            // The application has not started yet, and what it does would be lost.
            Runtime.getRuntime().halt(2);
        }
        // Absolute now: nothing that the application does can change it.
        Path path = Path.of(file).toAbsolutePath();
        Rewriter rewriter = new Rewriter(new ClassFiles());
        instrumentation.addTransformer(new Transformer(rewriter));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> write(path), "regatta-profiler"));
    }

    private static void write(Path path) {
        try {
            Profile.write(path);
        } catch (IOException | RuntimeException e) {
            // Whoever reads the profile finds none, and says so.
            System.err.println("error: the profile could not be written: " + e);
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
