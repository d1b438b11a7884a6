package org.regatta.bench.micro;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.regatta.bench.Benchmark;
import org.regatta.bench.Measurement;
import org.regatta.bench.OutputDigest;

/**
 * Operations of system classes. An iteration times each of them once, in an interval of {@code size} ms, and reports the
 * time of one operation without its baseline: the loop and the preparation of the call.
 */
abstract class Group implements Benchmark {
    static final int MAX_SIZE = 10_000;

    private static final String OPERATION = "operation";
    private static final long MS = 1_000_000;
    private static final int ARRAY = 1 << 16;
    /** Long enough for the last compiler to finish, with intervals of 5 ms and operations of less than 7 us. */
    private static final int WARM_UP_INTERVALS = 30;
    /** Slower operations need longer: HotSpot's last compiler compiles a method after 15,000 calls at the latest. */
    private static final long WARM_UP_OPERATIONS = 20_000;
    /** Enough for {@link #WARM_UP_OPERATIONS} of 50 us, with intervals of 5 ms; slower operations get fewer calls. */
    private static final int MOST_WARM_UP_INTERVALS = 200;
    /** The clock error, its resolution at both ends, is then at most 0.2 % of an interval. */
    private static final long RESOLUTIONS_OF_INTERVAL = 1000;
    /** Number of intervals whose fastest decides whether an operation takes longer than the empty loop. */
    private static final int TRIALS = 10;
    /** The JIT may compile two equal loops differently; a smaller difference yields only an upper bound. */
    private static final double LEAST_RATIO = 1.25;
    /** On processors of 3 GHz, two compilations of a loop that only adds were seen to differ by half a nanosecond. */
    private static final double LEAST_NS = 1;

    /** Volatile: the JIT must not remove its writes. */
    private static volatile byte[] latestArray;

    private final List<Timed> operations = new ArrayList<>();
    /** Operations without a value, with the upper bound of their cost; ns. */
    private final Map<Timed, Double> limits = new LinkedHashMap<>();
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private final ValueOperation emptyValue = i -> i;
    private final ObjectOperation emptyObject = i -> this;
    /** Operation to its loop without the measured call */
    private final Map<Timed, Object> baselineOf = new HashMap<>();
    /** Operations that have the same baseline share its measurement. */
    private final Map<Object, Timed> baselines = new IdentityHashMap<>();
    private List<Measurement> measured = List.of();

    /** Add the operations with {@link #value} and {@link #object}. */
    abstract void addOperations() throws Exception;

    /** Add an operation whose result is a number. */
    final void value(String name, ValueOperation operation) throws Exception {
        value(name, operation, emptyValue);
    }

    /**
     * Adds an operation whose result is a number.
     *
     * @param baseline the same without the measured call: its time is no part of the latency
     */
    final void value(String name, ValueOperation operation, ValueOperation baseline) throws Exception {
        add(new Timed(Map.of(OPERATION, name), operation), baseline);
    }

    /** Add an operation whose result is an object. */
    final void object(String name, ObjectOperation operation) throws Exception {
        object(name, operation, emptyObject);
    }

    /**
     * Adds an operation whose result is an object.
     *
     * @param baseline the same without the measured call: its time is no part of the latency
     */
    final void object(String name, ObjectOperation operation, ObjectOperation baseline) throws Exception {
        add(new Timed(Map.of(OPERATION, name), operation), baseline);
    }

    /** Add an operation for each value of an argument that drives its cost. */
    final void values(String name, String argument, int[] amounts, OfAmount<ValueOperation> operation)
            throws Exception {
        values(name, argument, amounts, operation, amount -> emptyValue);
    }

    /** The same with a baseline for each value. */
    final void values(
            String name,
            String argument,
            int[] amounts,
            OfAmount<ValueOperation> operation,
            OfAmount<ValueOperation> baseline)
            throws Exception {
        for (int amount : amounts) {
            Timed timed = new Timed(Map.of(OPERATION, name, argument, amount), operation.of(amount));
            add(timed, baseline.of(amount));
        }
    }

    /** Add an operation for each value of an argument that drives its cost. */
    final void objects(String name, String argument, int[] amounts, OfAmount<ObjectOperation> operation)
            throws Exception {
        objects(name, argument, amounts, operation, amount -> emptyObject);
    }

    /** The same with a baseline for each value. */
    final void objects(
            String name,
            String argument,
            int[] amounts,
            OfAmount<ObjectOperation> operation,
            OfAmount<ObjectOperation> baseline)
            throws Exception {
        for (int amount : amounts) {
            Timed timed = new Timed(Map.of(OPERATION, name, argument, amount), operation.of(amount));
            add(timed, baseline.of(amount));
        }
    }

    private void add(Timed operation, Object baseline) {
        operations.add(operation);
        baselineOf.put(operation, baseline);
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

    /** @return the loop of an operation without the measured call: an operation of the same kind */
    final Object baselineOf(Timed operation) {
        return baselineOf.get(operation);
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
        for (Timed operation : operations) {
            Object baseline = baselineOf.get(operation);
            if (!baselines.containsKey(baseline)) {
                baselines.put(baseline, operation.isOfValues()
                        ? new Timed(Map.of(), (ValueOperation) baseline)
                        : new Timed(Map.of(), (ObjectOperation) baseline));
            }
        }
        List<Timed> all = new ArrayList<>(baselines.values());
        all.addAll(operations);
        for (Timed operation : all) {
            operation.warmUp(WARM_UP_INTERVALS, MOST_WARM_UP_INTERVALS, WARM_UP_OPERATIONS, intervalNs);
        }
        for (int trial = 0; trial < TRIALS; trial++) {
            for (Timed operation : all) {
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
            double ns = operation.nsPerOperation() - baselineNs(operation);
            double limitNs = limitNs(operation);
            // The loop may be faster now than ever before; what is left then is no cost.
            boolean isKnown = ns > limitNs;
            found.add(measurement(isKnown ? "latency" : "latency_at_most", isKnown ? ns : limitNs, operation));
        }
        limits.forEach((operation, ns) -> found.add(measurement("latency_at_most", ns, operation)));
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

    private static Measurement measurement(String metric, double ns, Timed operation) {
        return new Measurement(metric, ns, "ns", operation.parameters(), operation.times());
    }

    private double baselineNs(Timed operation) {
        return baselines.get(baselineOf.get(operation)).fastest();
    }

    /** What cannot be told from the time of the loop. */
    private double limitNs(Timed operation) {
        return Math.max(LEAST_NS, (LEAST_RATIO - 1) * baselineNs(operation));
    }

    /** For an operation that takes hardly longer than its loop, only an upper bound of its cost is known. */
    private void findLimit(Timed operation) {
        double baselineNs = baselineNs(operation);
        if (operation.fastest() - baselineNs > limitNs(operation)) {
            return;
        }
        limits.put(operation, limitNs(operation));
        System.err.printf(
                "%s: at most %.3f ns: %.3f ns with the loop, %.3f ns for the loop without the call%n",
                operation.parameters(), limitNs(operation), operation.fastest(), baselineNs);
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
