package org.regatta.bench.ecj;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** {@code ecj} of the suite {@code apps}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "ecj",
                    "The Eclipse compiler compiles a generated source tree in memory",
                    EcjBenchmark.MAX_SIZE,
                    // not a method reference, which would load the compiler here: on release 11 no benchmark would run
                    () -> new EcjBenchmark()));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
