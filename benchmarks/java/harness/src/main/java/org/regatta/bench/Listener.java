package org.regatta.bench;

import java.util.List;
import java.util.Map;

/**
 * Hears what happens in a run, in this order: {@code started}, for each iteration {@code iterationStarting},
 * {@code iterationEnded}, {@code requested} and {@code digested}, then {@code finished} or {@code failed}.
 *
 * <p>All calls come from the thread that runs the iterations and lie outside of the measured time.
 */
public interface Listener {
    /** @param info what is known of the run: names and their values, which are strings, numbers or lists of strings */
    default void started(Map<String, Object> info) throws Exception {}

    default void iterationStarting(int iteration) throws Exception {}

    default void iterationEnded(int iteration, List<Measurement> measurements) throws Exception {}

    /** @param logs the iteration's requests, a log for each thread; none where the workload logs none */
    default void requested(int iteration, List<Requests> logs) throws Exception {}

    /** @param digest SHA-256 of the iteration's output, 64 hexadecimal digits */
    default void digested(int iteration, String digest) throws Exception {}

    default void finished() throws Exception {}

    /** @param cause anything but an exhausted heap, after which nothing more can be promised */
    default void failed(Throwable cause) throws Exception {}
}
