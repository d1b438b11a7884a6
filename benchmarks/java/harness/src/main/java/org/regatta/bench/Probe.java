package org.regatta.bench;

import java.lang.module.FindException;
import java.lang.reflect.InaccessibleObjectException;

/** Tells whether a benchmark can run on this JVM, without running it. */
final class Probe {
    private Probe() {}

    /**
     * Makes the benchmark and lets it touch what it needs.
     *
     * @return null if it can run here; else why not, one line
     * @throws Throwable whatever fails for another reason
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

    /** The deepest cause that says what this JVM lacks; null where none does. */
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
                // UnsupportedClassVersionError, NoClassDefFoundError and their kin
                || thrown instanceof LinkageError && !(thrown instanceof ExceptionInInitializerError);
    }
}
