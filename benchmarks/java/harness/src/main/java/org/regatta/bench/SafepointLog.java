package org.regatta.bench;

import java.io.IOException;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;

/**
 * The pauses of the collector, from the safepoint log of the JVM ({@code -Xlog:safepoint:file=FILE:none:filecount=0}).
 *
 * <p>Every collector of HotSpot stops the world in a safepoint, and each one is logged: by releases 17 to 25 in one
 * line, in nanoseconds; by release 11 in two, in steps of 100 ns. The collector beans count in milliseconds, in which a
 * pause of Z is 0, and notifications allocate in the measured heap. The line is written after the threads resume, so
 * that it lengthens no pause.
 *
 * <p>Exact: all safepoints of the collector that ended between {@code start} and {@code stop}. A pause is the time
 * during which all threads are stopped ("At safepoint"), without the time until the last of them has stopped. Release
 * 11 includes the resumption of the threads, some 10 us.
 */
final class SafepointLog {
    private static final Pattern SAFEPOINT = Pattern.compile("^Safepoint \"(\\w+)\",.* At safepoint: (\\d+) ns,");

    /** Release 11: first line of a safepoint. */
    private static final Pattern ENTERING = Pattern.compile("^Entering safepoint region: (\\w+)");
    /** Release 11: line at the end of the safepoint. */
    private static final Pattern STOPPED =
            Pattern.compile("^Total time for which application threads were stopped: ([\\d.,]+) seconds,"
                    + " Stopping threads took: ([\\d.,]+) seconds");

    /**
     * Names of the collector's VM operations in releases 11 to 25. Only Shenandoah requests handshakes that release 11
     * performs in a safepoint.
     */
    private static final Pattern OF_COLLECTOR =
            Pattern.compile("G1.*|Shenandoah.*|CMS_.*|ZOperation|[XZ](Mark|Relocate|Verify).*|.*Collect(For|Full).*|.*GC.*"
                    + "|HandshakeFallback");

    private static final double NS_PER_S = 1e9;

    private final LogWindow log;

    private SafepointLog(LogWindow log) {
        this.log = log;
    }

    /** @throws UsageException if the JVM does not log to {@code path} */
    static SafepointLog open(String path) throws UsageException {
        return new SafepointLog(LogWindow.open(path, "--pauses", "safepoint", "none"));
    }

    /** Discard earlier lines; call {@link LogWindow#finishLines} first. */
    void start() throws IOException {
        log.start();
    }

    /** Ignore later lines; call {@link LogWindow#finishLines} first. */
    void stop() throws IOException {
        log.stop();
    }

    /** @return duration of each collector pause between start and stop, in ns, ascending */
    long[] pausesNs() throws IOException {
        LongStream.Builder found = LongStream.builder();
        // Release 11: the operation of the safepoint; empty if the window opened within it.
        String entered = "";
        for (String line : (Iterable<String>) log.text().lines()::iterator) {
            Matcher whole = SAFEPOINT.matcher(line);
            Matcher entering = ENTERING.matcher(line);
            Matcher stopped = STOPPED.matcher(line);
            if (whole.find()) {
                if (isOfCollector(whole.group(1))) {
                    found.add(Long.parseLong(whole.group(2)));
                }
            } else if (entering.find()) {
                entered = entering.group(1);
            } else if (stopped.find()) {
                if (isOfCollector(entered)) {
                    found.add(Math.max(0, ns(stopped.group(1)) - ns(stopped.group(2))));
                }
                entered = "";
            }
        }
        return found.build().sorted().toArray();
    }

    private static boolean isOfCollector(String operation) {
        return OF_COLLECTOR.matcher(operation).matches();
    }

    /** @param seconds with a point, or a comma if the locale of the JVM has one */
    private static long ns(String seconds) {
        return Math.round(Double.parseDouble(seconds.replace(',', '.')) * NS_PER_S);
    }

    /** The smallest of {@code ascending} that {@code percent} of them do not exceed (nearest rank). */
    static long percentile(long[] ascending, double percent) {
        int rank = (int) Math.ceil(ascending.length * percent / 100);
        return ascending[Math.max(1, rank) - 1];
    }

    static long sum(long[] values) {
        return Arrays.stream(values).sum();
    }
}
