package org.regatta.bench;

import java.util.List;
import java.util.Map;

/**
 * Receives the events of a run, in this order: {@code started}; for each iteration {@code collected} if a full
 * collection was requested, {@code iterationStarting}, {@code iterationStopped}, {@code iterationEnded},
 * {@code requested}, {@code validated} and {@code digested}; then {@code finished} or {@code failed}.
 *
 * <p>All calls except {@code failed} come from the thread that runs the iterations, outside the measured time.
 * {@code iterationStarting} is the last action before it and {@code iterationStopped} the first after it, so that a
 * profiler can start and stop in them. An exception in a listener fails the run.
 *
 * <p>{@code -Dregatta.listener=CLASS} adds a listener: a public class on the class path with a public constructor
 * without parameters.
 */
public interface Listener {
    /** @param info facts about the run: names and values, which are strings, numbers or lists of strings */
    default void started(Map<String, Object> info) throws Exception {}

    /** The full collection before this iteration is complete. */
    default void collected(int iteration) throws Exception {}

    /** The measured time begins when this returns. */
    default void iterationStarting(int iteration) throws Exception {}

    /** The measured time is over, and all counters have been read. */
    default void iterationStopped(int iteration) throws Exception {}

    /** @param measurements all measurements of the iteration */
    default void iterationEnded(int iteration, List<Measurement> measurements) throws Exception {}

    /** @param logs the requests of the iteration, one log per thread; empty if the workload logs none */
    default void requested(int iteration, List<Requests> logs) throws Exception {}

    /** The workload has checked the output of the iteration, if possible, and found it correct. */
    default void validated(int iteration) throws Exception {}

    /** @param digest SHA-256 of the iteration's output, 64 hexadecimal digits */
    default void digested(int iteration, String digest) throws Exception {}

    default void finished() throws Exception {}

    /** @param cause any error except an exhausted heap, after which no call is guaranteed */
    default void failed(Throwable cause) throws Exception {}
}
