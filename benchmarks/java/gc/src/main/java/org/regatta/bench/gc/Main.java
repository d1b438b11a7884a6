package org.regatta.bench.gc;

import java.util.List;
import java.util.function.Supplier;
import org.regatta.bench.Benchmark;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** The benchmarks of the suite {@code gc}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            entry("lists", "Full collections of linked lists", Lists::new),
            entry("shapes", "Full collections of graphs, arrays, references and classes", Shapes::new),
            entry("young", "Young collections, by survivors, age and old references", Young::new),
            entry("mutator", "A program next to a thread that collects without a pause", Mutator::new));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }

    private static Entry entry(String name, String description, Supplier<Benchmark> factory) {
        return new Entry(name, description, Grid.DEFAULT, factory);
    }
}
