package org.regatta.bench;

/**
 * Start and end of requests, logged by one thread at the cost of two clock reads.
 *
 * <p>The memory is allocated in advance, so that logging does not allocate; exceeding it is an error.
 */
public final class Requests {
    private final long[] startNs;
    private final long[] endNs;
    private int count;

    /** @param most maximum number per iteration of this thread */
    public Requests(int most) {
        startNs = new long[most];
        endNs = new long[most];
    }

    /** Clear the log. */
    public void clear() {
        count = 0;
    }

    /** Record a request that began at {@code beganNs} ({@code System.nanoTime()}) and ends now. */
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
