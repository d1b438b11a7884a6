package org.regatta.bench;

import java.lang.module.FindException;
import java.lang.reflect.InaccessibleObjectException;

/** Checks whether a benchmark can run on this JVM, without running it. */
final class Probe {
    private Probe() {}

    /**
     * Create the benchmark and let it access what it needs.
     *
     * @return null if it can run here; otherwise the reason, one line
     * @throws Throwable any failure with another cause
     */
    static String reasonAgainst(Entry entry) throws Throwable {
        try {
            entry.factory().get().probe();
            return null;
        } catch (Throwable thrown) {
            Throwable lacking = lacking(thrown);
            if (lacking == null) {
                throw thrown;
            }
            String reason = lacking instanceof UnsupportedRuntimeException ? lacking.getMessage() : lacking.toString();
            return String.valueOf(reason).replaceAll("\\s+", " ").trim();
        }
    }

    /** The deepest cause that names something this JVM lacks; null if none does. */
    private static Throwable lacking(Throwable thrown) {
        Throwable found = null;
        int depth = 0;
        for (Throwable next = thrown; next != null && depth < 100; next = next.getCause(), depth++) {
            if (tellsWhatIsMissing(next)) {
                found = next;
            }
        }
        return found;
    }

    private static boolean tellsWhatIsMissing(Throwable thrown) {
        return thrown instanceof UnsupportedRuntimeException
                || thrown instanceof UnsupportedOperationException
                || thrown instanceof ClassNotFoundException
                || thrown instanceof NoSuchMethodException
                || thrown instanceof FindException
                || thrown instanceof InaccessibleObjectException
                // UnsupportedClassVersionError, NoClassDefFoundError and similar
                || thrown instanceof LinkageError && !(thrown instanceof ExceptionInInitializerError);
    }
}
