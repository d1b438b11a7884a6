package org.regatta.bench.xalan;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** {@code xalan} of the suite {@code apps}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "xalan",
                    "Two threads transform generated XML documents with five XSLT style sheets in Xalan",
                    XalanBenchmark.MAX_SIZE,
                    XalanBenchmark::new));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
