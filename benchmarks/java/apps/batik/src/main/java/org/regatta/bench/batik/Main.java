package org.regatta.bench.batik;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** {@code batik} of the suite {@code apps}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "batik",
                    "Batik renders generated SVG pictures to bitmaps",
                    BatikBenchmark.MAX_SIZE,
                    () -> new BatikBenchmark()));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
