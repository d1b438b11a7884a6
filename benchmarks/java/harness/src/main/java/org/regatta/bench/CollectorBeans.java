package org.regatta.bench;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The JVM's collector beans: number and time of collections, in whole ms. Each bean counts one kind of collection. */
final class CollectorBeans {
    private static final long NS_PER_MS = 1_000_000;

    /**
     * Z and Shenandoah have two kinds of beans: "... Cycles", which run concurrently with the program, and "...
     * Pauses". The bean of Z before release 17 counts cycles.
     */
    private static final Pattern RUNS_BESIDE = Pattern.compile(".* Cycles|ZGC");

    /** Collections of the young generation that stop the program. */
    private static final Pattern YOUNG = Pattern.compile("Copy|ParNew|PS Scavenge|G1 Young Generation");

    private final List<GarbageCollectorMXBean> beans = ManagementFactory.getGarbageCollectorMXBeans();
    private final long[] counts = new long[beans.size()];
    private final long[] timesMs = new long[beans.size()];

    List<String> names() {
        return beans.stream().map(GarbageCollectorMXBean::getName).collect(Collectors.toList());
    }

    void start() {
        for (int i = 0; i < counts.length; i++) {
            counts[i] = count(i);
            timesMs[i] = timeMs(i);
        }
    }

    /** Set counts and times to the differences since {@code start}. */
    void stop() {
        for (int i = 0; i < counts.length; i++) {
            counts[i] = count(i) - counts[i];
            timesMs[i] = timeMs(i) - timesMs[i];
        }
    }

    /** Add {@code collections} and {@code collection_time} of every bean; both are 0 for a bean without collections. */
    void report(List<Measurement> measurements) {
        for (int i = 0; i < counts.length; i++) {
            Map<String, Object> collector = Map.of("collector", beans.get(i).getName());
            measurements.add(new Measurement("collections", counts[i], "count", collector));
            measurements.add(new Measurement("collection_time", timesMs[i] * NS_PER_MS, "ns", collector));
        }
    }

    /**
     * Add {@code gc_time} and {@code gc_count}, the sums over the beans that count pauses; nothing if there are no such
     * beans.
     */
    void reportPauses(List<Measurement> measurements) {
        long ms = 0;
        long count = 0;
        boolean known = false;
        for (int i = 0; i < counts.length; i++) {
            if (!RUNS_BESIDE.matcher(beans.get(i).getName()).matches()) {
                ms += timesMs[i];
                count += counts[i];
                known = true;
            }
        }
        if (known) {
            measurements.add(new Measurement("gc_time", ms * NS_PER_MS, "ns"));
            measurements.add(new Measurement("gc_count", count, "count"));
        }
    }

    /**
     * Run a full collection.
     *
     * @throws UsageException if no bean counted one: the option would have no effect
     */
    void collect() throws UsageException {
        long before = countOfAll();
        System.gc();
        if (countOfAll() == before) {
            throw new UsageException("--collect (or -Dregatta.collect=true): expected System.gc() to collect, got no"
                    + " collection by " + names() + "; omit it with this collector, or omit"
                    + " -XX:+DisableExplicitGC");
        }
    }

    /** @return number of collections and cycles of all beans since the start of the JVM */
    long countOfAll() {
        return IntStream.range(0, beans.size()).mapToLong(this::count).sum();
    }

    /** @return number of young collections since the start of the JVM; negative if this collector has none that stop */
    long countOfYoung() {
        int bean = young();
        return bean < 0 ? -1 : count(bean);
    }

    private int young() {
        return IntStream.range(0, beans.size())
                .filter(i -> YOUNG.matcher(beans.get(i).getName()).matches())
                .findFirst()
                .orElse(-1);
    }

    /** The JVM returns -1 for unknown values. */
    private long count(int bean) {
        return Math.max(0, beans.get(bean).getCollectionCount());
    }

    private long timeMs(int bean) {
        return Math.max(0, beans.get(bean).getCollectionTime());
    }
}
