package org.regatta.bench.pmd;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** {@code pmd} of the suite {@code apps}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "pmd",
                    "PMD checks a generated source tree against its quick-start rules",
                    PmdBenchmark.MAX_SIZE,
                    () -> new PmdBenchmark()));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
