package org.regatta.bench.micro;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.regatta.bench.Benchmark;
import org.regatta.bench.Measurement;
import org.regatta.bench.OutputDigest;

/**
 * Operations of system classes. An iteration times each of them once, in an interval of {@code size} ms, and reports
 * the time of one operation without the loop.
 */
abstract class Group implements Benchmark {
    static final int MAX_SIZE = 10_000;

    private static final String OPERATION = "operation";
    private static final long MS = 1_000_000;
    private static final int ARRAY = 1 << 16;
    /** Long enough for the last compiler to finish, with intervals of 5 ms. */
    private static final int WARM_UP_INTERVALS = 30;
    /** The clock error, its resolution at both ends, is then at most 0.2 % of an interval. */
    private static final long RESOLUTIONS_OF_INTERVAL = 1000;
    /** Number of intervals whose fastest decides whether an operation takes longer than the empty loop. */
    private static final int TRIALS = 10;
    /** The JIT may compile two equal loops differently; a smaller difference yields only an upper bound. */
    private static final double LEAST_RATIO = 1.25;

    /** Volatile: the JIT must not remove its writes. */
    private static volatile byte[] latestArray;

    private final List<Timed> operations = new ArrayList<>();
    /** Operations without a value, with the upper bound of their cost; ns. */
    private final Map<Timed, Double> limits = new LinkedHashMap<>();
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private Timed emptyValue;
    private Timed emptyObject;
    private List<Measurement> measured = List.of();

    /** Add the operations with {@link #value} and {@link #object}. */
    abstract void addOperations() throws Exception;

    /** Add an operation whose result is a number. */
    final void value(String name, ValueOperation operation) throws Exception {
        operations.add(new Timed(Map.of(OPERATION, name), operation));
    }

    /** Add an operation whose result is an object. */
    final void object(String name, ObjectOperation operation) throws Exception {
        operations.add(new Timed(Map.of(OPERATION, name), operation));
    }

    /** Add an operation for each value of an argument that drives its cost. */
    final void values(String name, String argument, int[] amounts, OfAmount<ValueOperation> operation)
            throws Exception {
        for (int amount : amounts) {
            operations.add(new Timed(Map.of(OPERATION, name, argument, amount), operation.of(amount)));
        }
    }

    /** Add an operation for each value of an argument that drives its cost. */
    final void objects(String name, String argument, int[] amounts, OfAmount<ObjectOperation> operation)
            throws Exception {
        for (int amount : amounts) {
            operations.add(new Timed(Map.of(OPERATION, name, argument, amount), operation.of(amount)));
        }
    }

    /** Close this at the end, in reverse order of opening. */
    final <T extends AutoCloseable> T opened(T resource) {
        opened.push(resource);
        return resource;
    }

    /**
     * Create the operations and return one of them, for measurement elsewhere.
     *
     * @param amount value of its argument; null: no argument
     */
    final Timed find(String name, Integer amount) throws Exception {
        addOperations();
        for (Timed operation : operations) {
            Map<String, Object> parameters = operation.parameters();
            if (parameters.get(OPERATION).equals(name) && (amount == null || parameters.containsValue(amount))) {
                return operation;
            }
        }
        throw new IllegalArgumentException(name);
    }

    /** Create an operation for an amount. */
    interface OfAmount<T> {
        T of(int amount) throws Exception;
    }

    @Override
    public final void setup(int size, long seed) throws Exception {
        touchHeap();
        addOperations();
        long intervalNs = Math.max(size * MS, RESOLUTIONS_OF_INTERVAL * clockResolutionNs());
        emptyValue = new Timed(Map.of(), (ValueOperation) i -> i);
        emptyObject = new Timed(Map.of(), (ObjectOperation) i -> this);
        emptyValue.warmUp(WARM_UP_INTERVALS, intervalNs);
        emptyObject.warmUp(WARM_UP_INTERVALS, intervalNs);
        for (Timed operation : operations) {
            operation.warmUp(WARM_UP_INTERVALS, intervalNs);
        }
        for (int trial = 0; trial < TRIALS; trial++) {
            emptyValue.nsPerOperation();
            emptyObject.nsPerOperation();
            for (Timed operation : operations) {
                operation.nsPerOperation();
            }
        }
        operations.forEach(this::findLimit);
        operations.removeAll(limits.keySet());
    }

    @Override
    public final long iterate(int iteration) throws Exception {
        List<Measurement> found = new ArrayList<>();
        for (Timed operation : operations) {
            double ns = operation.nsPerOperation() - emptyLoopOf(operation).fastest();
            found.add(new Measurement("latency", ns, "ns", operation.parameters(), operation.times()));
        }
        limits.forEach((operation, ns) -> found.add(
                new Measurement("latency_at_most", ns, "ns", operation.parameters(), operation.times())));
        measured = found;
        return found.size();
    }

    @Override
    public final List<Measurement> measurements() {
        return measured;
    }

    /** No output: the operations are those of the JVM. */
    @Override
    public final void digest(OutputDigest out) {}

    @Override
    public final void teardown() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }

    private Timed emptyLoopOf(Timed operation) {
        return operation.isOfValues() ? emptyValue : emptyObject;
    }

    /** For an operation that takes hardly longer than its loop, only an upper bound of its cost is known. */
    private void findLimit(Timed operation) {
        double emptyNs = emptyLoopOf(operation).fastest();
        if (operation.fastest() > LEAST_RATIO * emptyNs) {
            return;
        }
        double limitNs = (LEAST_RATIO - 1) * emptyNs;
        limits.put(operation, limitNs);
        System.err.printf(
                "%s: at most %.3f ns: %.3f ns with the loop, %.3f ns for the empty loop%n",
                operation.parameters(), limitNs, operation.fastest(), emptyNs);
    }

    /** The first use of memory causes page faults, which must not count for the first operations. */
    private static void touchHeap() {
        long rest = Runtime.getRuntime().totalMemory();
        while (rest > 0) {
            latestArray = new byte[ARRAY];
            rest -= ARRAY;
        }
    }

    private static long clockResolutionNs() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 1000; i++) {
            long start = System.nanoTime();
            long next = System.nanoTime();
            while (next == start) {
                next = System.nanoTime();
            }
            least = Math.min(least, next - start);
        }
        return least;
    }
}
