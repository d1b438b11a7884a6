package org.regatta.bench.antlr;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** {@code antlr} of the suite {@code apps}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "antlr",
                    "ANTLR generates parsers from grammars and parses text with them",
                    AntlrBenchmark.MAX_SIZE,
                    () -> new AntlrBenchmark()));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
