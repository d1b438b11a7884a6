package org.regatta.bench.gc;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.regatta.bench.Collected;
import org.regatta.bench.CollectionWatch;
import org.regatta.bench.Measurement;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WatchesCollections;
import org.regatta.bench.WrongResultException;

/** Structures in the heap, and the collections in their presence. An iteration measures each structure once. */
abstract class Grid implements WatchesCollections {
    static final int QUICK = 1;
    static final int DEFAULT = 2;

    /** Slots of an array of roots: parallel collectors divide the work by arrays, and G1 places larger ones apart. */
    static final int CHUNK = 1024;

    private static final long MIB = 1 << 20;
    /** Structures beyond this size tell nothing new, and cost time. */
    private static final long MOST_BYTES = 48 * MIB;

    /** Small objects need many for a time that is long next to that of an empty heap. */
    private static final int MOST_OBJECTS = 500_000;
    private static final int QUICK_OBJECTS = 20_000;
    /** Part of the heap that a structure may fill: it fits the eden of most collectors. */
    private static final int PART_OF_HEAP = 4;

    /** Serial compacts in each fourth full collection. */
    private static final int MOST_CLEARINGS = 4;

    private static final int TOUCHED_ARRAY = 1 << 16;

    /** Volatile: the JIT must not remove its writes. */
    static volatile Object latest;

    /** The structure that is alive. */
    static volatile Object held;

    final NodeClasses nodes = new NodeClasses();
    private CollectionWatch watch;
    private final List<Measurement> measured = new ArrayList<>();
    private int referenceBytes;
    /** Occupancy of the heap without a structure. */
    private long emptyBytes;

    private int size;
    private long seed;

    /** Builds a structure. */
    interface Builder {
        Object build() throws Exception;
    }

    @Override
    public final void watch(CollectionWatch opened) {
        watch = opened;
    }

    @Override
    public final void setup(int ofSize, long ofSeed) throws Exception {
        size = ofSize;
        seed = ofSeed;
        referenceBytes = NodeClasses.referenceBytes();
        touchHeap();
        warmUp();
        for (int i = 0; i < MOST_CLEARINGS; i++) {
            System.gc();
        }
        emptyBytes = usedBytes();
    }

    @Override
    public final long iterate(int iteration) throws Exception {
        measured.clear();
        add("object_alignment", objectAlignment(), "bytes", Map.of());
        clear();
        measureAll();
        return measured.size();
    }

    /** Run the largest structures without measurements: code, page tables and the threads of the collector. */
    abstract void warmUp() throws Exception;

    /** Measure every structure. */
    abstract void measureAll() throws Exception;

    @Override
    public final List<Measurement> measurements() {
        return List.copyOf(measured);
    }

    /** No output: the numbers of objects depend on the heap, and structures are checked when they are alive. */
    @Override
    public final void digest(OutputDigest out) {}

    final CollectionWatch watch() {
        return watch;
    }

    final boolean isQuick() {
        return size == QUICK;
    }

    final long seed() {
        return seed;
    }

    final int referenceBytes() {
        return referenceBytes;
    }

    /** @return number of objects of this size that a structure may have */
    final int mostObjects(long bytesEach) {
        long bytes = Math.min(MOST_BYTES, Runtime.getRuntime().maxMemory() / PART_OF_HEAP);
        return (int) Math.max(1, Math.min(isQuick() ? QUICK_OBJECTS : MOST_OBJECTS, bytes / bytesEach));
    }

    /** @return a case with the parameters that all have */
    final Case structure(String shape, long bytesEach, long objects, long references) {
        return new Case(shape)
                .with("size", bytesEach)
                .with("objects", objects)
                .with("refs", references)
                .with("reference_bytes", referenceBytes);
    }

    /**
     * Build a structure and measure full collections: when it is new, when it is in place, when it is garbage, and when
     * it is gone. Then build it again and measure when it is garbage that no collection has moved.
     *
     * @param counter counts its objects
     */
    final void fullCollections(Case of, Builder builder, ToLongFunction<Object> counter) throws Exception {
        long objects = (Long) of.parameters().get("objects");
        boolean isNew = hold(builder);
        check(of, objects, counter.applyAsLong(held));
        collect(of, isNew ? "live_new" : "live_moved");
        collect(of, "live");
        check(of, objects, counter.applyAsLong(held));
        collectGarbage(of, "dead");
        clear();
        collect(of, "empty");
        if (hold(builder)) {
            collectGarbage(of, "dead_new");
        }
        clear();
    }

    /** @return whether no collection has moved the structure */
    final boolean hold(Builder builder) throws Exception {
        long before = watch.collections();
        held = builder.build();
        return watch.collections() == before;
    }

    /** Drop the structure and measure a full collection. */
    private void collectGarbage(Case of, String moment) throws Exception {
        long before = watch.collections();
        held = null;
        // A cycle that the collector starts by itself would already reclaim it.
        boolean isGarbage = watch.collections() == before;
        collect(of, isGarbage ? moment : "reclaimed");
    }

    /** Drop the structure and collect until it is gone: Serial and Parallel do not always compact. */
    final void clear() {
        held = null;
        for (int i = 0; i < MOST_CLEARINGS && usedBytes() > emptyBytes + MIB; i++) {
            System.gc();
        }
    }

    private static long usedBytes() {
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** The same collections without measurements. */
    static void collectUnmeasured(Builder builder) throws Exception {
        held = builder.build();
        System.gc();
        System.gc();
        held = null;
        System.gc();
        System.gc();
    }

    /** Measure a full collection. */
    final void collect(Case of, String moment) throws Exception {
        watch.start();
        System.gc();
        Collected window = watch.stop();
        if (window.pauses().isEmpty()) {
            throw new WrongResultException("expected System.gc() to collect, got no collection for " + of
                    + "; omit -XX:+DisableExplicitGC");
        }
        Map<String, Object> parameters = of.parameters();
        parameters.put("moment", moment);
        report(window, parameters);
    }

    /** Add the measurements of a window. */
    final void report(Collected window, Map<String, Object> parameters) {
        add("collection", window.pauseNs(), "ns", parameters);
        window.cpuNs().ifPresent(ns -> add("collector_cpu", ns, "ns", parameters));
        add("concurrent", window.concurrentNs(), "ns", parameters);
        window.heapAfterBytes().ifPresent(bytes -> add("collection_heap_after", bytes, "bytes", parameters));
        if (window.pauses().values().stream().mapToInt(Integer::intValue).sum() > 1) {
            window.pauses().forEach((kind, count) -> {
                Map<String, Object> ofKind = new LinkedHashMap<>(parameters);
                ofKind.put("kind", kind);
                add("collection_pauses", count, "count", ofKind);
                add("collection_pause", window.pausesNs().get(kind), "ns", ofKind);
            });
        }
    }

    final void add(String metric, Number value, String unit, Map<String, Object> parameters) {
        measured.add(new Measurement(metric, value, unit, parameters));
    }

    /** @throws WrongResultException if {@code got} differs */
    static void check(Object of, long expected, long got) throws WrongResultException {
        if (expected != got) {
            throw new WrongResultException(of + ": expected " + expected + " objects, got " + got);
        }
    }

    private static int objectAlignment() {
        HotSpotDiagnosticMXBean options = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        return Integer.parseInt(options.getVMOption("ObjectAlignmentInBytes").getValue());
    }

    /** The first use of memory causes page faults, which must not count for the first collections. */
    private static void touchHeap() {
        long rest = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getCommitted();
        while (rest > 0) {
            latest = new byte[TOUCHED_ARRAY];
            rest -= TOUCHED_ARRAY;
        }
        latest = null;
    }
}
