package org.regatta.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * What the JVM logs to a file between two moments. The JVM hands each line to the system when it is written, so that
 * the file's length is the border.
 */
final class LogWindow {
    private final FileChannel file;
    private long before;
    private long from;
    private long to;

    private LogWindow(FileChannel file) {
        this.file = file;
    }

    /**
     * @param path what the option names
     * @param option of the command line, for the message
     * @param selector what the JVM must be told to log, for the message: {@code safepoint}
     * @param decorators of its lines, for the message: {@code none}
     * @throws UsageException if the JVM was not told to log to {@code path}
     */
    static LogWindow open(String path, String option, String selector, String decorators) throws UsageException {
        try {
            return new LogWindow(FileChannel.open(Path.of(path), StandardOpenOption.READ));
        } catch (IOException | IllegalArgumentException e) {
            throw new UsageException(option + ": expected a file that the JVM logs to, got '" + path + "' (" + e
                    + "); give the JVM " + flag(selector, path, decorators));
        }
    }

    /** @return the JVM's flag that makes it log, for messages */
    static String flag(String selector, String path, String decorators) {
        return "-Xlog:" + selector + ":file=" + path + ":" + decorators + ":filecount=0";
    }

    /**
     * The VM thread does one operation after the other and writes the lines of a pause at its end: after one more
     * operation, here a look at all threads' stacks, the lines of all earlier ones are in their files.
     */
    static void finishLines() {
        Thread.getAllStackTraces();
    }

    /** The window opens here. */
    void start() throws IOException {
        before = to;
        from = file.size();
    }

    /** The window ends here. */
    void stop() throws IOException {
        to = file.size();
    }

    /** @return what was logged in the window; lines at its borders may be torn */
    String text() throws IOException {
        return read(from, to);
    }

    /** @return what was logged between the window before, or the start of the JVM, and this one */
    String skipped() throws IOException {
        return read(before, from);
    }

    /** @return the first bytes of the log, at most {@code most} */
    String beginning(int most) throws IOException {
        return read(0, Math.min(most, file.size()));
    }

    private String read(long start, long end) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(end - start));
        while (bytes.hasRemaining() && file.read(bytes, start + bytes.position()) > 0) {
            // until all of it is there
        }
        return new String(bytes.array(), 0, bytes.position(), StandardCharsets.UTF_8);
    }
}
