package org.regatta.bench;

/**
 * When requests began and ended, logged by one thread at the cost of two reads of the clock.
 *
 * <p>Room for all of them is taken beforehand, so that logging allocates nothing; one too many is an error.
 */
public final class Requests {
    private final long[] startNs;
    private final long[] endNs;
    private int count;

    /** @param most how many an iteration of this thread has */
    public Requests(int most) {
        startNs = new long[most];
        endNs = new long[most];
    }

    /** Empties the log. */
    public void clear() {
        count = 0;
    }

    /** Notes a request that began at {@code beganNs} ({@code System.nanoTime()}) and ends now. */
    public void ended(long beganNs) {
        startNs[count] = beganNs;
        endNs[count] = System.nanoTime();
        count++;
    }

    int count() {
        return count;
    }

    long startNs(int index) {
        return startNs[index];
    }

    long endNs(int index) {
        return endNs[index];
    }
}
