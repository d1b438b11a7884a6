package org.regatta.bench.lucene;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** {@code luindex} and {@code lusearch} of the suite {@code apps}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "luindex",
                    "Lucene indexes generated articles in memory",
                    LuindexBenchmark.MAX_SIZE,
                    () -> new LuindexBenchmark()),
            new Entry(
                    "lusearch",
                    "Two clients search generated articles with Lucene",
                    LusearchBenchmark.MAX_SIZE,
                    () -> new LusearchBenchmark()));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
