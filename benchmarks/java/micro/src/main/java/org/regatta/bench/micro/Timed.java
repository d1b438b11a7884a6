package org.regatta.bench.micro;

import java.util.Map;
import java.util.TreeMap;
import org.regatta.bench.Sink;

/** An operation that is timed in intervals of a given length. */
final class Timed {
    private final Map<String, Object> parameters;
    private final Object operation;
    private final Loop loop;
    private long times = 1;
    private double fastest = Double.POSITIVE_INFINITY;

    /** @param parameters its name, and values that distinguish it from others of the same name */
    Timed(Map<String, Object> parameters, ValueOperation operation) throws Exception {
        this(parameters, operation, LoopCopies.copyOf(ValueLoop.class));
    }

    /** @param parameters its name, and values that distinguish it from others of the same name */
    Timed(Map<String, Object> parameters, ObjectOperation operation) throws Exception {
        this(parameters, operation, LoopCopies.copyOf(ObjectLoop.class));
    }

    private Timed(Map<String, Object> parameters, Object operation, Loop loop) {
        this.parameters = new TreeMap<>(parameters);
        this.operation = operation;
        this.loop = loop;
    }

    Map<String, Object> parameters() {
        return parameters;
    }

    /** A {@link ValueOperation} or an {@link ObjectOperation}. */
    Object operation() {
        return operation;
    }

    boolean isOfValues() {
        return operation instanceof ValueOperation;
    }

    /** Number of operations per interval. */
    long times() {
        return times;
    }

    /** Minimum time of an operation that {@link #nsPerOperation} has returned. */
    double fastest() {
        return fastest;
    }

    /**
     * Run the operation until it is compiled, and determine the number of operations per interval.
     *
     * @param least minimum number of intervals, with at least {@code operations} operations
     * @param most maximum number of intervals, even with fewer operations
     */
    void warmUp(int least, int most, long operations, long intervalNs) throws Exception {
        long start = System.nanoTime();
        long done = 0;
        while (true) {
            long elapsed = Math.max(1, elapsedNs());
            done += times;
            long spent = System.nanoTime() - start;
            boolean isWarm = spent >= least * intervalNs && done >= operations || spent >= most * intervalNs;
            if (elapsed >= intervalNs && isWarm) {
                times = Math.max(1, Math.round((double) times * intervalNs / elapsed));
                return;
            }
            if (elapsed < intervalNs) {
                times = Math.max(times + 1, (long) (times * Math.min(10, 1.2 * intervalNs / elapsed)));
            }
        }
    }

    /** Time an interval, including the loop; ns. */
    double nsPerOperation() throws Exception {
        double ns = (double) elapsedNs() / times;
        fastest = Math.min(fastest, ns);
        return ns;
    }

    private long elapsedNs() throws Exception {
        long start = System.nanoTime();
        Sink.consume(loop.run(operation, times));
        return System.nanoTime() - start;
    }
}
