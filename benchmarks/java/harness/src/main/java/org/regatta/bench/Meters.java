package org.regatta.bench;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/**
 * The clocks and counters read around an iteration.
 *
 * <p>{@code cpu} is the whole process's, compiler and collector threads included; before release 23 or so the JVM
 * reads it in ticks of 10 ms. Pauses are counted by {@link PauseMeter}.
 */
final class Meters {
    private final com.sun.management.OperatingSystemMXBean process =
            ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class);
    private final AllocationMeter allocation = AllocationMeter.ofThisJvm();
    private final PauseMeter pauses;

    private long elapsedStartNs;
    private long cpuStartNs;

    /** @param safepointLog null where the JVM writes none */
    Meters(SafepointLog safepointLog) {
        pauses = PauseMeter.of(safepointLog);
    }

    /** Reads everything, the wall clock last. */
    void start() throws IOException {
        pauses.start();
        allocation.start();
        cpuStartNs = process == null ? -1 : process.getProcessCpuTime();
        elapsedStartNs = System.nanoTime();
    }

    /** Reads everything again, the wall clock first; what this JVM cannot tell is left out. */
    List<Measurement> stop() throws IOException {
        long elapsedNs = System.nanoTime() - elapsedStartNs;
        long cpuEndNs = process == null ? -1 : process.getProcessCpuTime();
        long allocatedBytes = allocation.stop();

        List<Measurement> measurements = new ArrayList<>();
        measurements.add(new Measurement("elapsed", elapsedNs, "ns"));
        if (cpuStartNs >= 0 && cpuEndNs >= cpuStartNs) {
            measurements.add(new Measurement("cpu", cpuEndNs - cpuStartNs, "ns"));
        }
        pauses.stop(measurements);
        if (allocatedBytes >= 0) {
            measurements.add(new Measurement("allocated", allocatedBytes, "bytes"));
        }
        return measurements;
    }

    List<String> collectorNames() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
                .map(bean -> bean.getName())
                .toList();
    }

    String allocationSource() {
        return allocation.source();
    }

    String pauseSource() {
        return pauses.source();
    }
}
