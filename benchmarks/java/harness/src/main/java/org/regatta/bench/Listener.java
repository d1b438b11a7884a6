package org.regatta.bench;

import java.util.List;
import java.util.Map;

/**
 * Hears what happens in a run, in this order: {@code started}; for each iteration {@code collected} where a full
 * collection was asked for, {@code iterationStarting}, {@code iterationStopped}, {@code iterationEnded},
 * {@code requested}, {@code validated} and {@code digested}; then {@code finished} or {@code failed}.
 *
 * <p>All calls but {@code failed} come from the thread that runs the iterations, and all lie outside of the measured
 * time: {@code iterationStarting} is the last thing before it and {@code iterationStopped} the first after it, so that
 * a profiler is switched on in the one and off in the other. What a listener throws fails the run.
 *
 * <p>{@code -Dregatta.listener=CLASS} adds one: a public class on the class path with a public constructor without
 * parameters.
 */
public interface Listener {
    /** @param info what is known of the run: names and their values, which are strings, numbers or lists of strings */
    default void started(Map<String, Object> info) throws Exception {}

    /** The full collection before this iteration is done. */
    default void collected(int iteration) throws Exception {}

    /** The measured time begins when this returns. */
    default void iterationStarting(int iteration) throws Exception {}

    /** The measured time is over, and all counters were read. */
    default void iterationStopped(int iteration) throws Exception {}

    /** @param measurements all numbers about the iteration */
    default void iterationEnded(int iteration, List<Measurement> measurements) throws Exception {}

    /** @param logs the iteration's requests, a log for each thread; none where the workload logs none */
    default void requested(int iteration, List<Requests> logs) throws Exception {}

    /** The workload has checked the iteration's output, as far as it can, and found it right. */
    default void validated(int iteration) throws Exception {}

    /** @param digest SHA-256 of the iteration's output, 64 hexadecimal digits */
    default void digested(int iteration, String digest) throws Exception {}

    default void finished() throws Exception {}

    /** @param cause anything but an exhausted heap, after which nothing more can be promised */
    default void failed(Throwable cause) throws Exception {}
}
