package org.regatta.bench.micro;

/** Sums the results of a {@link ValueOperation}. */
public final class ValueLoop implements Loop {
    /** A method called often is compiled as a whole, not only by on-stack replacement. */
    private static final int BATCH = 128;

    @Override
    public long run(Object operation, long times) throws Exception {
        long sum = 0;
        for (long done = 0; done < times; done += BATCH) {
            sum += batch((ValueOperation) operation, done, Math.min(times, done + BATCH));
        }
        return sum;
    }

    private static long batch(ValueOperation operation, long from, long end) throws Exception {
        long sum = 0;
        for (long i = from; i < end; i++) {
            sum += operation.run(i);
        }
        return sum;
    }
}
