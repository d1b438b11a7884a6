package org.regatta.bench.first;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** The benchmarks of the suite {@code first}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "ecj",
                    "The Eclipse compiler compiles a generated source tree in memory",
                    EcjBenchmark.MAX_SIZE,
                    EcjBenchmark::new),
            new Entry(
                    "h2",
                    "Two terminals run an order-entry transaction mix on an in-memory H2 database",
                    H2Benchmark.MAX_SIZE,
                    H2Benchmark::new),
            new Entry(
                    "lzw",
                    "LZW with a dictionary of objects compresses and expands generated text",
                    LzwBenchmark.MAX_SIZE,
                    LzwBenchmark::new));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
