package org.regatta.bench;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * The end of a process whose heap is exhausted.
 *
 * <p>Whoever searches the smallest heap must be able to tell "too small" from "broken", wherever the error was
 * thrown and however a library wrapped it: its name goes to stderr, and the process ends at once with code 1.
 */
final class Fatal {
    private static final String NAME = OutOfMemoryError.class.getName();

    /** Made beforehand, because there may be no memory to make it when it is needed. */
    private static final byte[] BARE_MESSAGE = (NAME + "\n").getBytes(StandardCharsets.US_ASCII);

    private static final FileOutputStream STDERR = new FileOutputStream(FileDescriptor.err);

    /** Given back before a failure is handled: what failed may still hold the rest of the heap. */
    private static final int RESERVE_BYTES = 256 * 1024;

    private static volatile byte[] reserve;

    private Fatal() {}

    /** Loads what handling a failure needs, and sets the reserve aside: afterwards it would be too late. */
    static void prepare() {
        isOutOfMemory(new IllegalStateException("rehearsal", new IllegalStateException("cause")));
        reserve = new byte[RESERVE_BYTES];
    }

    static void releaseReserve() {
        reserve = null;
    }

    /** Whether an exhausted heap is at the root of {@code thrown}, under whatever wrapping. */
    static boolean isOutOfMemory(Throwable thrown) {
        if (thrown instanceof OutOfMemoryError) {
            return true;
        }
        Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Throwable> left = new ArrayDeque<>();
        left.add(thrown);
        while (!left.isEmpty()) {
            Throwable next = left.remove();
            if (!seen.add(next)) {
                continue;
            }
            // A class whose initialiser ran out of memory tells so only in words from the second use on.
            if (next instanceof OutOfMemoryError || String.valueOf(next.getMessage()).contains(NAME)) {
                return true;
            }
            if (next.getCause() != null) {
                left.add(next.getCause());
            }
            Collections.addAll(left, next.getSuppressed());
        }
        return false;
    }

    /** Prints the name of the error and ends the process without running anything that could allocate. */
    static void haltOutOfMemory(Throwable thrown) {
        try {
            STDERR.write(BARE_MESSAGE);
        } catch (IOException e) {
            // stderr is closed: the exit code still tells
        }
        try {
            thrown.printStackTrace();
        } catch (Throwable anything) {
            // the name is out already; the trace is a courtesy
        } finally {
            Runtime.getRuntime().halt(Harness.EXIT_FAILED);
        }
    }
}
