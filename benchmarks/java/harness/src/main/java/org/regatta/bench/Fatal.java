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
 * Ends a process whose heap is exhausted.
 *
 * <p>A search for the smallest heap must distinguish "too small" from "broken", wherever the error was thrown and
 * however a library wrapped it: the error name goes to stderr, and the process ends at once with code 1.
 */
final class Fatal {
    private static final String NAME = OutOfMemoryError.class.getName();

    /** Allocated in advance, because there may be no memory when it is needed. */
    private static final byte[] BARE_MESSAGE = (NAME + "\n").getBytes(StandardCharsets.US_ASCII);

    private static final FileOutputStream STDERR = new FileOutputStream(FileDescriptor.err);

    /** Released before a failure is handled: the failed code may still hold the rest of the heap. */
    private static final int RESERVE_BYTES = 256 * 1024;

    private static volatile byte[] reserve;

    private Fatal() {}

    /** Load the classes needed to handle a failure, and allocate the reserve: afterwards it would be too late. */
    static void prepare() {
        isOutOfMemory(new IllegalStateException("rehearsal", new IllegalStateException("cause")));
        reserve = new byte[RESERVE_BYTES];
    }

    static void releaseReserve() {
        reserve = null;
    }

    /** Whether an exhausted heap is among the causes of {@code thrown}, however it is wrapped. */
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
            // From the second use on, a class whose initialiser ran out of memory reports this only in the message.
            if (next instanceof OutOfMemoryError || String.valueOf(next.getMessage()).contains(NAME)) {
                return true;
            }
            if (next.getCause() != null) {
                left.add(next.getCause());
            }
            Collections.addAll(left, next.getSuppressed());
            addChain(next, left);
        }
        return false;
    }

    /** Add the exceptions chained to an SQLException, which are not its causes: a failed batch has nothing else. */
    private static void addChain(Throwable thrown, Deque<Throwable> left) {
        // Not by its class: a JVM without the module java.sql could not load it.
        if (!(thrown instanceof Iterable)) {
            return;
        }
        Set<Object> chain = Collections.newSetFromMap(new IdentityHashMap<>());
        for (Object next : (Iterable<?>) thrown) {
            if (!chain.add(next)) {
                return; // a cycle, or a cause in common: the next in the chain has a chain of its own
            }
            if (next instanceof Throwable) {
                left.add((Throwable) next);
            }
        }
    }

    /** Print the name of the error and end the process without code that could allocate. */
    static void haltOutOfMemory(Throwable thrown) {
        try {
            STDERR.write(BARE_MESSAGE);
        } catch (IOException e) {
            // stderr is closed: the exit code still reports the failure
        }
        try {
            thrown.printStackTrace();
        } catch (Throwable anything) {
            // the name is already printed; the stack trace is optional
        } finally {
            Runtime.getRuntime().halt(Harness.EXIT_FAILED);
        }
    }
}
