package org.regatta.bench;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What the JVM's beans tell of its collectors, each of which is one kind of collection: number and time, in whole ms. */
final class CollectorBeans {
    private static final long NS_PER_MS = 1_000_000;

    /**
     * Z and Shenandoah have beans of two kinds: "... Cycles", which run beside the program, and "... Pauses". The one of
     * Z before release 17 is of cycles.
     */
    private static final Pattern RUNS_BESIDE = Pattern.compile(".* Cycles|ZGC");

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

    /** The counts and times become those since {@code start}. */
    void stop() {
        for (int i = 0; i < counts.length; i++) {
            counts[i] = count(i) - counts[i];
            timesMs[i] = timeMs(i) - timesMs[i];
        }
    }

    /** Adds {@code collections} and {@code collection_time} of every bean: one that did not collect has 0 of both. */
    void report(List<Measurement> measurements) {
        for (int i = 0; i < counts.length; i++) {
            Map<String, Object> collector = Map.of("collector", beans.get(i).getName());
            measurements.add(new Measurement("collections", counts[i], "count", collector));
            measurements.add(new Measurement("collection_time", timesMs[i] * NS_PER_MS, "ns", collector));
        }
    }

    /** Adds {@code gc_time} and {@code gc_count}, the sums over the beans that count pauses; where there is none, nothing. */
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
     * A full collection, now.
     *
     * @throws UsageException if none of the beans counted one: nothing would be as the option says
     */
    void collect() throws UsageException {
        long before = countOfAll();
        System.gc();
        if (countOfAll() == before) {
            throw new UsageException("--collect (or -Dregatta.collect=true): expected that System.gc() collects, got no"
                    + " collection by " + names() + "; leave it out with this collector, or leave out"
                    + " -XX:+DisableExplicitGC");
        }
    }

    private long countOfAll() {
        return IntStream.range(0, beans.size()).mapToLong(this::count).sum();
    }

    /** The JVM says -1 where it does not know. */
    private long count(int bean) {
        return Math.max(0, beans.get(bean).getCollectionCount());
    }

    private long timeMs(int bean) {
        return Math.max(0, beans.get(bean).getCollectionTime());
    }
}
