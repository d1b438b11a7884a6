package org.regatta.bench;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;

/**
 * The clocks and counters that are read around an iteration.
 *
 * <p>{@code cpu} covers the whole process, including compiler and collector threads; before release 23 or so, the JVM
 * reads it in ticks of 10 ms. {@code cpu_thread} covers the thread that calls {@link #start} and {@link #stop}.
 * {@code collector_cpu} covers the threads of the collector and the VM thread.
 * {@link PauseMeter} counts pauses.
 */
final class Meters {
    private static final long UNKNOWN = -1;
    private static final long NS_PER_MS = 1_000_000;

    private final OperatingSystemMXBean process = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    /** Null if the JVM only interprets. */
    private final CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();

    private final AllocationMeter allocation = AllocationMeter.ofThisJvm();
    private final CollectorBeans collectors = new CollectorBeans();
    private final CollectorThreads collectorThreads = new CollectorThreads();
    private final Borders borders = Borders.ofThisProcess();
    private final PauseMeter pauses;
    /** Null without such a log. */
    private final GcLog gcLog;

    private final boolean readsLogs;

    /** After {@code start}, readings of counters; after {@code stop}, differences; negative if unknown. */
    private long elapsedNs;

    private long cpuNs;
    private long threadCpuNs;
    private long collectorCpuNs;
    private long compileMs;
    private long allocatedBytes;

    /** @throws UsageException if the JVM does not write a log that the options name */
    Meters(Options options) throws UsageException, IOException {
        SafepointLog safepointLog = options.safepointLog() == null ? null : SafepointLog.open(options.safepointLog());
        pauses = PauseMeter.of(safepointLog, collectors);
        gcLog = options.gcLog() == null ? null : GcLog.open(options.gcLog(), collectors.names());
        readsLogs = safepointLog != null || gcLog != null;
    }

    /** Read all counters, the wall clock last. */
    void start(int iteration) throws IOException {
        if (readsLogs) {
            LogWindow.finishLines();
        }
        pauses.start();
        if (gcLog != null) {
            gcLog.start();
        }
        collectors.start();
        collectorThreads.start();
        borders.begin(iteration);
        compileMs = readCompileMs();
        allocation.start();
        cpuNs = readCpuNs();
        threadCpuNs = readThreadCpuNs();
        elapsedNs = System.nanoTime();
    }

    /** Read all counters again, the wall clock first. */
    void stop(int iteration) throws IOException {
        elapsedNs = System.nanoTime() - elapsedNs;
        threadCpuNs = difference(threadCpuNs, readThreadCpuNs());
        cpuNs = difference(cpuNs, readCpuNs());
        allocatedBytes = allocation.stop();
        compileMs = difference(compileMs, readCompileMs());
        borders.end(iteration);
        collectorCpuNs = collectorThreads.sinceStartNs();
        collectors.stop();
        if (readsLogs) {
            LogWindow.finishLines();
        }
        pauses.stop();
        if (gcLog != null) {
            gcLog.stop();
        }
    }

    /**
     * @return all measurements between start and stop, without those that this JVM cannot report
     * @throws UsageException if the GC log is incomplete
     */
    List<Measurement> measurements() throws UsageException, IOException {
        List<Measurement> measurements = new ArrayList<>();
        measurements.add(new Measurement("elapsed", elapsedNs, "ns"));
        add(measurements, "cpu", cpuNs, 1, "ns");
        add(measurements, "cpu_thread", threadCpuNs, 1, "ns");
        add(measurements, "collector_cpu", collectorCpuNs, 1, "ns");
        pauses.report(measurements);
        if (gcLog != null) {
            gcLog.report(measurements);
        }
        collectors.report(measurements);
        add(measurements, "allocated", allocatedBytes, 1, "bytes");
        add(measurements, "compile_time", compileMs, NS_PER_MS, "ns");
        return measurements;
    }

    /** @throws UsageException if this JVM ignores the request for a collection */
    void collect() throws UsageException {
        collectors.collect();
    }

    List<String> collectorNames() {
        return collectors.names();
    }

    String allocationSource() {
        return allocation.source();
    }

    String pauseSource() {
        return pauses.source();
    }

    private static void add(List<Measurement> measurements, String metric, long value, long factor, String unit) {
        if (value >= 0) {
            measurements.add(new Measurement(metric, value * factor, unit));
        }
    }

    private static long difference(long start, long end) {
        return start < 0 || end < start ? UNKNOWN : end - start;
    }

    private long readCpuNs() {
        return process == null ? UNKNOWN : process.getProcessCpuTime();
    }

    private long readThreadCpuNs() {
        return threads.isCurrentThreadCpuTimeSupported() ? threads.getCurrentThreadCpuTime() : UNKNOWN;
    }

    private long readCompileMs() {
        boolean known = compiler != null && compiler.isCompilationTimeMonitoringSupported();
        return known ? compiler.getTotalCompilationTime() : UNKNOWN;
    }
}
