package org.regatta.bench.chat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Turns on and off the hardware counters of a `perf stat --control fifo:control-N,ack-N` that watches this process, one such
 * program for each window N.
 *
 * <p>Source: perf-stat(1), option --control.
 */
final class CounterSwitch {
    private final Path directory;

    /**
     * @param directory where the FIFOs are; null where nothing counts
     */
    CounterSwitch(Path directory) {
        this.directory = directory;
    }

    boolean isThere() {
        return directory != null;
    }

    /** Counts from some time on between this call and its return. Returns how many messages there were half-way. */
    long on(int window, Tally tally) throws IOException {
        return say("enable\n", window, tally);
    }

    /** Counts no more from some time on between this call and its return. Returns how many messages there were half-way. */
    long off(int window, Tally tally) throws IOException {
        return say("disable\n", window, tally);
    }

    private long say(String command, int window, Tally tally) throws IOException {
        long before = tally.received.sum();
        if (directory == null) {
            return before;
        }
        Files.write(
                directory.resolve("control-" + window),
                command.getBytes(StandardCharsets.US_ASCII),
                StandardOpenOption.WRITE);
        try (BufferedReader answer = Files.newBufferedReader(directory.resolve("ack-" + window))) {
            String line = answer.readLine();
            // perf ends its answer with a zero byte, which the next one then begins with.
            if (line == null || !line.replace("\0", "").equals("ack")) {
                throw new IOException("counters: expected ack, got " + line);
            }
        }
        // On a machine with more to run than processors, perf and this thread may each wait for their turn.
        return before + (tally.received.sum() - before) / 2;
    }
}
