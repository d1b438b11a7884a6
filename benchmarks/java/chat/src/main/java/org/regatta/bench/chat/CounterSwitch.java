package org.regatta.bench.chat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Enables and disables the hardware counters of a `perf stat --control fifo:control-N,ack-N` that watches this process; one such
 * program per window N.
 *
 * <p>Source: perf-stat(1), option --control.
 */
final class CounterSwitch {
    private final Path directory;

    /** @param directory directory of the FIFOs; null: no counters */
    CounterSwitch(Path directory) {
        this.directory = directory;
    }

    boolean isThere() {
        return directory != null;
    }

    /** Enable counting at some time during this call. Return the number of messages half-way. */
    long on(int window, Tally tally) throws IOException {
        return say("enable\n", window, tally);
    }

    /** Disable counting at some time during this call. Return the number of messages half-way. */
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
            // perf ends its reply with a zero byte, which precedes the next reply.
            if (line == null || !line.replace("\0", "").equals("ack")) {
                throw new IOException("counters: expected ack, got " + line);
            }
        }
        // On an overloaded machine, perf and this thread may each wait to be scheduled.
        return before + (tally.received.sum() - before) / 2;
    }
}
