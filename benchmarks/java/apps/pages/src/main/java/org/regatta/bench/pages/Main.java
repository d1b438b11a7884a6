package org.regatta.bench.pages;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** {@code scanner} and {@code crawler} of the suite {@code apps}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "scanner",
                    "A text scanner reads web pages from files and writes a report",
                    ScannerBenchmark.MAX_SIZE,
                    () -> new ScannerBenchmark()),
            new Entry(
                    "crawler",
                    "A web crawler fetches pages from a server in the same JVM and stores them",
                    CrawlerBenchmark.MAX_SIZE,
                    () -> new CrawlerBenchmark()));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
