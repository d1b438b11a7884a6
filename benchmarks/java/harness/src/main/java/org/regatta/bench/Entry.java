package org.regatta.bench;

import java.util.function.Supplier;

/** One benchmark in the table of a suite. */
public final class Entry {
    private final String name;
    private final String description;
    private final int maxSize;
    private final Supplier<Benchmark> factory;

    /**
     * @param name on the command line
     * @param description one line for {@code --list}
     * @param maxSize the largest size whose input fits the data structures of the benchmark
     * @param factory creates the benchmark; if its classes may need a newer release than the JVM's, write
     *     {@code () -> new Thing()}: a reference {@code Thing::new} loads them with the table, and then no other
     *     benchmark could run either
     */
    public Entry(String name, String description, int maxSize, Supplier<Benchmark> factory) {
        this.name = name;
        this.description = description;
        this.maxSize = maxSize;
        this.factory = factory;
    }

    public String name() {
        return name;
    }

    public String description() {
        return description;
    }

    public int maxSize() {
        return maxSize;
    }

    public Supplier<Benchmark> factory() {
        return factory;
    }
}
