package org.regatta.bench;

import java.util.function.Supplier;

/** A line of a suite's table of benchmarks. */
public final class Entry {
    private final String name;
    private final String description;
    private final int maxSize;
    private final Supplier<Benchmark> factory;

    /**
     * @param name what is written on the command line
     * @param description one line for {@code --list}
     * @param maxSize the largest size whose input still fits the benchmark's data structures
     * @param factory makes the benchmark; where its classes may be of a release that the JVM is too old for, write
     *     {@code () -> new Thing()}: a reference {@code Thing::new} loads them when the table is made, so that no other
     *     line of it could run either
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
