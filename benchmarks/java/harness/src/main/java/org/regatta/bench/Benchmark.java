package org.regatta.bench;

import java.util.List;

/**
 * One workload: deterministic in its size and seed, so that every iteration gives the same output.
 *
 * <p>The harness calls {@code setup} once, then for each iteration {@code prepare}, {@code iterate} and
 * {@code digest}, and {@code teardown} at the end. Only {@code iterate} is timed.
 */
public interface Benchmark {
    /**
     * Touches what this JVM may lack: classes of a newer release, modules. Called alone, on a fresh object, by
     * {@code --probe}; never where the benchmark is measured.
     *
     * @throws UnsupportedRuntimeException if the benchmark cannot run here, with the JVM's own words; linkage errors,
     *     {@code ClassNotFoundException} and {@code UnsupportedOperationException} say the same
     */
    default void probe() throws Exception {}

    /**
     * Makes the input.
     *
     * @param size how much work an iteration is; from 1 to the entry's largest size
     * @param seed the only source of randomness
     */
    void setup(int size, long seed) throws Exception;

    /** Brings the state back to what {@code iterate} starts from; not timed. */
    default void prepare(int iteration) throws Exception {}

    /**
     * Does the measured work.
     *
     * @return a value that depends on all of the work; the harness sinks it so that the JIT cannot drop the work
     */
    long iterate(int iteration) throws Exception;

    /**
     * Feeds the output of the last iteration to {@code out}, and checks it where it can be checked; not timed.
     *
     * @throws WrongResultException if the output is wrong
     */
    void digest(OutputDigest out) throws Exception;

    /** @return when the requests of the last iteration began and ended, a log for each thread; none by default */
    default List<Requests> requests() {
        return List.of();
    }

    /** @return what the last iteration measured itself, besides the time that it took; none by default */
    default List<Measurement> measurements() {
        return List.of();
    }

    /** Gives back what {@code setup} took. */
    default void teardown() throws Exception {}
}
