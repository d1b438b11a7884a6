package org.regatta.bench.bloat;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** {@code bloat} of the suite {@code apps}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "bloat",
                    "ASM analyses, optimises and instruments the classes of a library",
                    BloatBenchmark.MAX_SIZE,
                    () -> new BloatBenchmark()));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
