package org.regatta.bench;

import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Asks the runner to read its counters at the borders of an iteration ({@code docs/counters.md}). Without counters it
 * does nothing.
 */
public final class Borders {
    private static final String VARIABLE = "REGATTA_COUNTERS";

    /** Null without counters. */
    private final FileOutputStream ask;

    private final FileInputStream answer;

    private Borders(FileOutputStream ask, FileInputStream answer) {
        this.ask = ask;
        this.answer = answer;
    }

    /** @throws IOException if the runner names FIFOs that cannot be opened */
    public static Borders ofThisProcess() throws IOException {
        String path = System.getenv(VARIABLE);
        if (path == null || path.isEmpty()) {
            return new Borders(null, null);
        }
        return new Borders(new FileOutputStream(path + ".ask"), new FileInputStream(path + ".answer"));
    }

    public void begin(int iteration) throws IOException {
        tell("begin", iteration);
    }

    public void end(int iteration) throws IOException {
        tell("end", iteration);
    }

    private void tell(String border, int iteration) throws IOException {
        if (ask == null) {
            return;
        }
        ask.write((border + " " + iteration + "\n").getBytes(StandardCharsets.US_ASCII));
        if (answer.read() < 0) {
            throw new IOException(VARIABLE + ": the runner does not answer");
        }
    }
}
