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

    /** Counts from when this returns. */
    void on(int window) throws IOException {
        say("enable\n", window);
    }

    /** Counts until this is called. */
    void off(int window) throws IOException {
        say("disable\n", window);
    }

    private void say(String command, int window) throws IOException {
        if (directory == null) {
            return;
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
    }
}
