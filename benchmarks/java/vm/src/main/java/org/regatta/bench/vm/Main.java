package org.regatta.bench.vm;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** The benchmarks of the suite {@code vm}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "compress",
                    "LZW with a dictionary of objects compresses and expands generated text",
                    CompressBenchmark.MAX_SIZE,
                    CompressBenchmark::new));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
