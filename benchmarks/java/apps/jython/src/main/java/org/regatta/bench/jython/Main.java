package org.regatta.bench.jython;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** {@code jython} of the suite {@code apps}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "jython",
                    "Jython runs Python programs on objects, strings, generators, patterns and long integers",
                    JythonBenchmark.MAX_SIZE,
                    () -> new JythonBenchmark()));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
