package org.regatta.bench;

import java.io.PrintStream;
import java.util.List;
import java.util.Map;

/** Prints the events as text on a terminal. */
final class PrintedLines implements Listener {
    private final PrintStream out;

    PrintedLines(PrintStream out) {
        this.out = out;
    }

    @Override
    public void started(Map<String, Object> info) {
        info.forEach((name, value) -> out.println(name + ": " + value));
    }

    @Override
    public void iterationEnded(int iteration, List<Measurement> measurements) {
        StringBuilder line = new StringBuilder("iteration " + iteration);
        String separator = ": ";
        for (Measurement m : measurements) {
            line.append(separator).append(m.metric());
            m.parameters().forEach((name, value) -> line.append(' ').append(name).append(' ').append(value));
            line.append(' ').append(m.value()).append(' ').append(m.unit());
            separator = ", ";
        }
        out.println(line);
    }

    @Override
    public void digested(int iteration, String digest) {
        out.println("iteration " + iteration + ": digest " + digest);
    }
}
