package org.regatta.bench;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The work of the collector, from the GC log of the JVM
 * ({@code -Xlog:gc,gc+marking,gc+phases:file=FILE:timenanos:filecount=0}, or a selection that includes this one).
 *
 * <p>{@code gc_concurrent} is the time of concurrent collector work: for each cycle, the time that its phases cover
 * (nested ones once), without the pauses in it. {@code gc_pause_total} is the total time of the pauses of each kind,
 * {@code heap_after} the heap occupancy after collections. Kinds of pauses that did not occur have 0: the known kinds
 * of the collector and those that occurred earlier. {@code gc_stall}, {@code gc_stall_count} and {@code gc_stall_time}
 * are the times in which single threads wait for memory while the collector runs.
 *
 * <p>The line is written at the end: a phase or a collection belongs to the iteration in which it ended.
 */
final class GcLog {
    private static final String SELECTOR = "gc,gc+marking,gc+phases";

    /** As written by the decorator {@code timenanos}: the clock of {@code System.nanoTime()}. */
    private static final Pattern STAMPED = Pattern.compile("^\\[\\d+ns\\].*", Pattern.DOTALL);

    private static final int ENOUGH_BYTES = 100;

    /** The beans of concurrent collectors. */
    private static final Pattern CONCURRENT = Pattern.compile("G1 .*|ZGC.*|Shenandoah.*|ConcurrentMarkSweep");

    /** The beans of collectors under which an allocating thread can wait without a pause. */
    private static final Pattern STALLING = Pattern.compile("ZGC.*|Shenandoah.*");

    private static final List<String> STOPPING = List.of("Young", "Full");

    /**
     * The kinds of pauses that releases 11 to 25 log, by a pattern of the bean name. Each iteration reports all of
     * them: a mean over only the iterations with a kind would be its length, not its share.
     */
    private static final Map<Pattern, List<String>> KINDS = Map.of(
            Pattern.compile("Copy|ParNew|PS Scavenge"),
            STOPPING,
            Pattern.compile("ConcurrentMarkSweep"),
            List.of("Initial Mark", "Remark"),
            Pattern.compile("G1 Young Generation"),
            List.of(
                    "Young (Normal)",
                    "Young (Concurrent Start)",
                    "Young (Prepare Mixed)",
                    "Young (Mixed)",
                    "Full",
                    "Remark",
                    "Cleanup"),
            Pattern.compile("ZGC.*"),
            List.of("Mark Start", "Mark End", "Relocate Start"),
            Pattern.compile("Shenandoah Pauses"),
            List.of(
                    "Init Mark",
                    "Final Mark",
                    "Init Update Refs",
                    "Final Update Refs",
                    "Degenerated GC",
                    "Full"));

    private final String path;
    private final LogWindow log;
    private final boolean concurrent;
    /** Whether threads can stall, and the log has every stall. */
    private final boolean logsStalls;
    private final GcLines lines;

    private GcLog(String path, LogWindow log, List<String> collectors) {
        this.path = path;
        this.log = log;
        concurrent = collectors.stream().anyMatch(name -> CONCURRENT.matcher(name).matches());
        logsStalls = collectors.stream().anyMatch(name -> STALLING.matcher(name).matches())
                && !(collectors.stream().anyMatch(name -> name.startsWith("Shenandoah")) && paces());
        lines = new GcLines(KINDS.entrySet().stream()
                .filter(known -> collectors.stream()
                        .anyMatch(name -> known.getKey().matcher(name).matches()))
                .flatMap(known -> known.getValue().stream())
                .collect(Collectors.toList()));
    }

    /**
     * @param path value of the option
     * @param collectors names of the collector beans
     * @throws UsageException if the JVM does not log to {@code path}, or logs lines without time stamps
     */
    static GcLog open(String path, List<String> collectors) throws UsageException, IOException {
        LogWindow log = LogWindow.open(path, "--gc-log", SELECTOR, "timenanos");
        String beginning = log.beginning(ENOUGH_BYTES);
        if (!beginning.isEmpty() && !STAMPED.matcher(beginning).matches()) {
            throw new UsageException("--gc-log: expected lines that begin with [12345ns], got '"
                    + beginning.lines().findFirst().orElse("") + "' in " + path + "; add the JVM flag "
                    + LogWindow.flag(SELECTOR, path, "timenanos"));
        }
        return new GcLog(path, log, collectors);
    }

    /**
     * Shenandoah delays allocating threads ("pacing") and logs only their sums. Without pacing, threads that find no
     * memory wait for a pause.
     */
    private static boolean paces() {
        try {
            HotSpotDiagnosticMXBean jvm = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
            return jvm == null || !jvm.getVMOption("ShenandoahPacing").getValue().equals("false");
        } catch (IllegalArgumentException unknown) {
            // a locked flag, whose default is true
            return true;
        }
    }

    /** Discard earlier lines; call {@link LogWindow#finishLines} first. */
    void start() throws IOException {
        log.start();
    }

    /** Ignore later lines; call {@link LogWindow#finishLines} first. */
    void stop() throws IOException {
        log.stop();
    }

    /**
     * @return the log between start and stop; the next call changes it
     * @throws UsageException if the log has cycles of the collector without their phases
     */
    GcLines read() throws UsageException, IOException {
        log.skipped().lines().forEach(lines::take);
        lines.startIteration();
        log.text().lines().forEach(lines::take);
        if (concurrent && lines.lacksPhases()) {
            throw new UsageException("--gc-log: expected the phases of the collector's cycles, got cycles without any in "
                    + path + "; add the JVM flag " + LogWindow.flag(SELECTOR, path, "timenanos"));
        }
        return lines;
    }

    /**
     * Add the log between start and stop to {@code measurements}.
     *
     * @throws UsageException if the log has cycles of the collector without their phases
     */
    void report(List<Measurement> measurements) throws UsageException, IOException {
        read();
        if (concurrent) {
            measurements.add(new Measurement("gc_concurrent", lines.concurrentNs(), "ns"));
        }
        lines.pausesNs().forEach((kind, ns) ->
                measurements.add(new Measurement("gc_pause_total", ns, "ns", Map.of("kind", kind))));
        if (logsStalls) {
            long[] stallsNs = lines.stallsNs();
            measurements.add(new Measurement("gc_stall_time", SafepointLog.sum(stallsNs), "ns"));
            measurements.add(new Measurement("gc_stall_count", stallsNs.length, "count"));
            PauseMeter.addPercentiles(measurements, "gc_stall", stallsNs);
        }
        if (lines.hasCollected()) {
            measurements.add(new Measurement("heap_after", lines.lastHeapBytes(), "bytes", Map.of("of", "last")));
            measurements.add(new Measurement("heap_after", lines.mostHeapBytes(), "bytes", Map.of("of", "maximum")));
        }
    }
}
