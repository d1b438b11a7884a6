package org.regatta.bench.fop;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** {@code fop} of the suite {@code apps}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "fop",
                    "Apache FOP lays out a generated report in XSL-FO and writes it as PDF",
                    FopBenchmark.MAX_SIZE,
                    () -> new FopBenchmark()));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
