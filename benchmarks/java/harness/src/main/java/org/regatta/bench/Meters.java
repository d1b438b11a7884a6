package org.regatta.bench;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/**
 * The clocks and counters read around an iteration.
 *
 * <p>{@code cpu} is the whole process's, compiler and collector threads included; before release 23 or so the JVM
 * reads it in ticks of 10 ms. {@code gc_time} and {@code gc_count} are sums over the collectors' beans: for Serial and
 * Parallel these are pauses, for Z and Shenandoah a bean of concurrent cycles is among them, so that the sums
 * are comparable within a collector, not between collectors.
 */
final class Meters {
    private static final long NS_PER_MS = 1_000_000;

    private final com.sun.management.OperatingSystemMXBean process =
            ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class);
    private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
    private final AllocationMeter allocation = AllocationMeter.ofThisJvm();

    private long elapsedStartNs;
    private long cpuStartNs;
    private long gcStartMs;
    private long gcStartCount;

    /** Reads everything, the wall clock last. */
    void start() {
        allocation.start();
        gcStartMs = gcMs();
        gcStartCount = gcCount();
        cpuStartNs = process == null ? -1 : process.getProcessCpuTime();
        elapsedStartNs = System.nanoTime();
    }

    /** Reads everything again, the wall clock first; what this JVM cannot tell is left out. */
    List<Measurement> stop() {
        long elapsedNs = System.nanoTime() - elapsedStartNs;
        long cpuEndNs = process == null ? -1 : process.getProcessCpuTime();
        long gcTimeMs = gcMs() - gcStartMs;
        long gcs = gcCount() - gcStartCount;
        long allocatedBytes = allocation.stop();

        List<Measurement> measurements = new ArrayList<>();
        measurements.add(new Measurement("elapsed", elapsedNs, "ns"));
        if (cpuStartNs >= 0 && cpuEndNs >= cpuStartNs) {
            measurements.add(new Measurement("cpu", cpuEndNs - cpuStartNs, "ns"));
        }
        if (!collectors.isEmpty()) {
            measurements.add(new Measurement("gc_time", gcTimeMs * NS_PER_MS, "ns"));
            measurements.add(new Measurement("gc_count", gcs, "count"));
        }
        if (allocatedBytes >= 0) {
            measurements.add(new Measurement("allocated", allocatedBytes, "bytes"));
        }
        return measurements;
    }

    List<String> collectorNames() {
        return collectors.stream().map(GarbageCollectorMXBean::getName).toList();
    }

    String allocationSource() {
        return allocation.source();
    }

    private long gcMs() {
        long sum = 0;
        for (GarbageCollectorMXBean collector : collectors) {
            sum += Math.max(0, collector.getCollectionTime());
        }
        return sum;
    }

    private long gcCount() {
        long sum = 0;
        for (GarbageCollectorMXBean collector : collectors) {
            sum += Math.max(0, collector.getCollectionCount());
        }
        return sum;
    }
}
