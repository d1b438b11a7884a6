package org.regatta.bench.bloat;

import java.util.concurrent.atomic.AtomicLongArray;

/** Called by the inserted instructions of rewritten classes. Public because those classes are in other packages. */
public final class Counters {
    static final String INTERNAL_NAME = "org/regatta/bench/bloat/Counters";
    static final String METHOD = "count";
    static final String DESCRIPTOR = "(I)V";

    /** Some places share a counter: the benchmark measures rewriting, not counting. */
    private static final AtomicLongArray COUNTS = new AtomicLongArray(1 << 12);

    private Counters() {}

    /** @param place the number of a method or of a loop */
    public static void count(int place) {
        COUNTS.incrementAndGet(place & COUNTS.length() - 1);
    }

    /** @return number of calls of {@code count} */
    static long sum() {
        long sum = 0;
        for (int i = 0; i < COUNTS.length(); i++) {
            sum += COUNTS.get(i);
        }
        return sum;
    }
}
