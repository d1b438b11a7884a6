package org.regatta.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The output of the JVM to a log file between two moments. The JVM writes each line to the file at once, so that the
 * file length marks the border.
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
     * @param path value of the option
     * @param option of the command line, for the message
     * @param selector required log selection, for the message: {@code safepoint}
     * @param decorators of its lines, for the message: {@code none}
     * @throws UsageException if the JVM does not log to {@code path}
     */
    static LogWindow open(String path, String option, String selector, String decorators) throws UsageException {
        try {
            return new LogWindow(FileChannel.open(Path.of(path), StandardOpenOption.READ));
        } catch (IOException | IllegalArgumentException e) {
            throw new UsageException(option + ": expected a file that the JVM logs to, got '" + path + "' (" + e
                    + "); add the JVM flag " + flag(selector, path, decorators));
        }
    }

    /** @return the JVM flag that enables the log, for messages */
    static String flag(String selector, String path, String decorators) {
        return "-Xlog:" + selector + ":file=" + path + ":" + decorators + ":filecount=0";
    }

    /**
     * The VM thread runs operations sequentially and writes the lines of a pause at its end. After one more operation
     * (here a thread dump), the lines of all earlier ones are in the file.
     */
    static void finishLines() {
        Thread.getAllStackTraces();
    }

    /** Open the window. */
    void start() throws IOException {
        before = to;
        from = file.size();
    }

    /** Close the window. */
    void stop() throws IOException {
        to = file.size();
    }

    /** @return the log in the window; lines at its borders may be incomplete */
    String text() throws IOException {
        return read(from, to);
    }

    /** @return the log between the previous window, or the start of the JVM, and this one */
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
            // until complete
        }
        return new String(bytes.array(), 0, bytes.position(), StandardCharsets.UTF_8);
    }
}
