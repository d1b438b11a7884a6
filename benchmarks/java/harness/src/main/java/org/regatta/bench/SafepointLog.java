package org.regatta.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The pauses of the collector, from the file to which the JVM logs its safepoints
 * ({@code -Xlog:safepoint:file=FILE:none:filecount=0}).
 *
 * <p>Every collector of HotSpot stops the world in a safepoint, and releases 17 to 25 log each one in the same words,
 * in nanoseconds. The collectors' beans count in milliseconds, in which a pause of Z is 0, and notifications allocate
 * in the heap that is measured. The line is written once the threads run again, so that it lengthens no pause.
 *
 * <p>Exact: all safepoints of the collector that ended between {@code start} and {@code stop}. A pause is the time
 * during which all threads stood still ("At safepoint"); the time until the last of them had stopped is not in it.
 */
final class SafepointLog {
    private static final Pattern SAFEPOINT = Pattern.compile("Safepoint \"(\\w+)\",.* At safepoint: (\\d+) ns,");

    /** Names of VM operations, in the releases 17 to 25, that are the collector's. */
    private static final Pattern OF_COLLECTOR =
            Pattern.compile("G1.*|Shenandoah.*|[XZ](Mark|Relocate|Verify).*|.*Collect(For|Full).*|.*GC.*");

    private final FileChannel file;
    private long position;

    private SafepointLog(FileChannel file) {
        this.file = file;
    }

    /** @throws UsageException if the JVM was not told to log to {@code path} */
    static SafepointLog open(String path) throws UsageException {
        try {
            return new SafepointLog(FileChannel.open(Path.of(path), StandardOpenOption.READ));
        } catch (IOException e) {
            throw new UsageException("--pauses: expected a file that the JVM logs its safepoints to, got '" + path
                    + "' (" + e + "); give the JVM -Xlog:safepoint:file=" + path + ":none:filecount=0");
        }
    }

    /** Forgets what was logged so far. */
    void start() throws IOException {
        finishLines();
        position = file.size();
    }

    /** @return duration of each of the collector's pauses since {@code start}, in ns, ascending */
    long[] stop() throws IOException {
        finishLines();
        ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(file.size() - position));
        while (bytes.hasRemaining() && file.read(bytes, position + bytes.position()) > 0) {
            // until all of it is there
        }
        String text = new String(bytes.array(), 0, bytes.position(), StandardCharsets.UTF_8);
        return text.lines()
                .map(SAFEPOINT::matcher)
                .filter(Matcher::find)
                .filter(line -> OF_COLLECTOR.matcher(line.group(1)).matches())
                .mapToLong(line -> Long.parseLong(line.group(2)))
                .sorted()
                .toArray();
    }

    /**
     * The VM thread does one operation after the other and writes a safepoint's line at its end: after one more
     * operation, here a look at all threads' stacks, the lines of all earlier ones are in the file.
     */
    private static void finishLines() {
        Thread.getAllStackTraces();
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
