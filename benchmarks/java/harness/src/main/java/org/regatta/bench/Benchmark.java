package org.regatta.bench;

import java.util.List;

/**
 * One workload, deterministic in its size and seed: every iteration produces the same output.
 *
 * <p>The harness calls {@code setup} once, then for each iteration {@code prepare}, {@code iterate} and {@code digest},
 * and {@code teardown} at the end. Only {@code iterate} is timed.
 */
public interface Benchmark {
    /**
     * Access everything that this JVM may lack, such as classes of a newer release or modules. Called alone, on a new
     * object, by {@code --probe}; never in a measured run.
     *
     * @throws UnsupportedRuntimeException if the benchmark cannot run here, with the message of the JVM; linkage
     *     errors, {@code ClassNotFoundException} and {@code UnsupportedOperationException} have the same effect
     */
    default void probe() throws Exception {}

    /**
     * Create the input.
     *
     * @param size amount of work per iteration; from 1 to the largest size of the entry
     * @param seed the only source of randomness
     */
    void setup(int size, long seed) throws Exception;

    /** Restore the state that {@code iterate} starts from; not timed. */
    default void prepare(int iteration) throws Exception {}

    /**
     * Do the measured work.
     *
     * @return a value that depends on all of the work; the harness sinks it so that the JIT cannot drop the work
     */
    long iterate(int iteration) throws Exception;

    /**
     * Feed the output of the last iteration to {@code out}, and check it if possible; not timed.
     *
     * @throws WrongResultException if the output is wrong
     */
    void digest(OutputDigest out) throws Exception;

    /** @return start and end of the requests of the last iteration, one log per thread; none by default */
    default List<Requests> requests() {
        return List.of();
    }

    /** @return own measurements of the last iteration, besides its elapsed time; none by default */
    default List<Measurement> measurements() {
        return List.of();
    }

    /** Release the resources of {@code setup}. */
    default void teardown() throws Exception {}
}
