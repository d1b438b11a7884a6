package org.regatta.bench;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * What the collector tells of its own work, from the file to which the JVM logs it
 * ({@code -Xlog:gc,gc+marking,gc+phases:file=FILE:timenanos:filecount=0}, or any selection that contains this one).
 *
 * <p>{@code gc_concurrent} is the time in which the collector worked beside the program: of each cycle the time that
 * its phases cover, nested ones once, without the pauses that fall into it. {@code gc_pause_total} is the time of
 * the pauses of each kind, {@code heap_after} what the heap held after collections. What the collector does not log is
 * not reported.
 *
 * <p>What counts is the line, which is written at the end: a phase or a collection belongs to the iteration in which it
 * ended.
 */
final class GcLog {
    private static final String SELECTOR = "gc,gc+marking,gc+phases";

    /** As the decorator {@code timenanos} writes it: the clock of {@code System.nanoTime()}. */
    private static final Pattern STAMPED = Pattern.compile("^\\[\\d+ns\\].*", Pattern.DOTALL);

    private static final int ENOUGH_BYTES = 100;

    /** The beans of collectors that work beside the program. */
    private static final Pattern CONCURRENT = Pattern.compile("G1 .*|ZGC.*|Shenandoah.*|ConcurrentMarkSweep");

    private final LogWindow log;
    private final boolean concurrent;

    private GcLog(LogWindow log, boolean concurrent) {
        this.log = log;
        this.concurrent = concurrent;
    }

    /**
     * @param path what the option names
     * @param collectors names of the collectors' beans
     * @throws UsageException if the JVM was not told to log to {@code path}, or without the time of each line
     */
    static GcLog open(String path, List<String> collectors) throws UsageException, IOException {
        LogWindow log = LogWindow.open(path, "--gc-log", SELECTOR, "timenanos");
        String beginning = log.beginning(ENOUGH_BYTES);
        if (!beginning.isEmpty() && !STAMPED.matcher(beginning).matches()) {
            throw new UsageException("--gc-log: expected lines that begin with [12345ns], got '"
                    + beginning.lines().findFirst().orElse("") + "' in " + path + "; give the JVM "
                    + LogWindow.flag(SELECTOR, path, "timenanos"));
        }
        return new GcLog(
                log, collectors.stream().anyMatch(name -> CONCURRENT.matcher(name).matches()));
    }

    /** Forgets what was logged so far; {@link LogWindow#finishLines} comes first. */
    void start() throws IOException {
        log.start();
    }

    /** Nothing later counts; {@link LogWindow#finishLines} comes first. */
    void stop() throws IOException {
        log.stop();
    }

    /** Adds what was logged between start and stop to {@code measurements}. */
    void report(List<Measurement> measurements) throws IOException {
        // Pauses between the iterations may fall into a phase that ends in this one.
        GcLines lines = new GcLines();
        log.skipped().lines().forEach(lines::takeBefore);
        log.text().lines().forEach(lines::take);
        if (concurrent) {
            measurements.add(new Measurement("gc_concurrent", lines.concurrentNs(), "ns"));
        }
        lines.pausesNs().forEach((kind, ns) ->
                measurements.add(new Measurement("gc_pause_total", ns, "ns", Map.of("kind", kind))));
        if (lines.hasCollected()) {
            measurements.add(new Measurement("heap_after", lines.lastHeapBytes(), "bytes", Map.of("of", "last")));
            measurements.add(new Measurement("heap_after", lines.mostHeapBytes(), "bytes", Map.of("of", "maximum")));
        }
    }
}
