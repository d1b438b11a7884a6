package org.regatta.bench.micro;

/** Keeps the last results of an {@link ObjectOperation}, so that the JIT must create every object. */
public final class ObjectLoop implements Loop {
    /** A method called often is compiled as a whole, not only by on-stack replacement. */
    private static final int BATCH = 128;

    private final Object[] kept = new Object[BATCH];

    @Override
    public long run(Object operation, long times) throws Exception {
        for (long done = 0; done < times; done += BATCH) {
            batch((ObjectOperation) operation, done, Math.min(times, done + BATCH));
        }
        return kept[0] == null ? 0 : 1;
    }

    private void batch(ObjectOperation operation, long from, long end) throws Exception {
        for (long i = from; i < end; i++) {
            kept[(int) (i - from)] = operation.run(i);
        }
    }
}
