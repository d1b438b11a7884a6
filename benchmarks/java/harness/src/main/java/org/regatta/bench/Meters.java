package org.regatta.bench;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;

/**
 * The clocks and counters read around an iteration.
 *
 * <p>{@code cpu} is the whole process's, compiler and collector threads included; before release 23 or so the JVM
 * reads it in ticks of 10 ms. {@code cpu_thread} is that of the thread that calls {@link #start} and {@link #stop}.
 * Pauses are counted by {@link PauseMeter}.
 */
final class Meters {
    private static final long UNKNOWN = -1;
    private static final long NS_PER_MS = 1_000_000;

    private final OperatingSystemMXBean process = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    /** Null where the JVM only interprets. */
    private final CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();

    private final AllocationMeter allocation = AllocationMeter.ofThisJvm();
    private final CollectorBeans collectors = new CollectorBeans();
    private final PauseMeter pauses;
    /** Null where the JVM writes none. */
    private final GcLog gcLog;

    private final boolean readsLogs;

    /** From {@code start} readings of counters, from {@code stop} on differences; negative where unknown. */
    private long elapsedNs;

    private long cpuNs;
    private long threadCpuNs;
    private long compileMs;
    private long allocatedBytes;

    /** @throws UsageException if a log that the options name is not written by the JVM */
    Meters(Options options) throws UsageException, IOException {
        SafepointLog safepointLog = options.safepointLog() == null ? null : SafepointLog.open(options.safepointLog());
        pauses = PauseMeter.of(safepointLog, collectors);
        gcLog = options.gcLog() == null ? null : GcLog.open(options.gcLog(), collectors.names());
        readsLogs = safepointLog != null || gcLog != null;
    }

    /** Reads everything, the wall clock last. */
    void start() throws IOException {
        if (readsLogs) {
            LogWindow.finishLines();
        }
        pauses.start();
        if (gcLog != null) {
            gcLog.start();
        }
        collectors.start();
        compileMs = readCompileMs();
        allocation.start();
        cpuNs = readCpuNs();
        threadCpuNs = readThreadCpuNs();
        elapsedNs = System.nanoTime();
    }

    /** Reads everything again, the wall clock first. */
    void stop() throws IOException {
        elapsedNs = System.nanoTime() - elapsedNs;
        threadCpuNs = difference(threadCpuNs, readThreadCpuNs());
        cpuNs = difference(cpuNs, readCpuNs());
        allocatedBytes = allocation.stop();
        compileMs = difference(compileMs, readCompileMs());
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
     * @return all that was measured between start and stop; what this JVM cannot tell is left out
     * @throws UsageException if the log of the collector lacks what is read of it
     */
    List<Measurement> measurements() throws UsageException, IOException {
        List<Measurement> measurements = new ArrayList<>();
        measurements.add(new Measurement("elapsed", elapsedNs, "ns"));
        add(measurements, "cpu", cpuNs, 1, "ns");
        add(measurements, "cpu_thread", threadCpuNs, 1, "ns");
        pauses.report(measurements);
        if (gcLog != null) {
            gcLog.report(measurements);
        }
        collectors.report(measurements);
        add(measurements, "allocated", allocatedBytes, 1, "bytes");
        add(measurements, "compile_time", compileMs, NS_PER_MS, "ns");
        return measurements;
    }

    /** @throws UsageException if this JVM does not collect when it is asked to */
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
