package org.regatta.bench;

import java.util.function.Supplier;

/**
 * A line of a suite's table of benchmarks.
 *
 * @param name what is written on the command line
 * @param description one line for {@code --list}
 * @param maxSize the largest size whose input still fits the benchmark's data structures
 * @param factory makes the benchmark
 */
public record Entry(String name, String description, int maxSize, Supplier<Benchmark> factory) {}
