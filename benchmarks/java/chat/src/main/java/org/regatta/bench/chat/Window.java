package org.regatta.bench.chat;

/** One measured window, as seen by the client. Only the thread of the loop writes to it. */
final class Window {
    final long beganNs;
    private final long sentBefore;
    private final long heardBefore;

    /** Latencies at all receivers of the messages whose planned send time is in the window, even if they arrive later. */
    final Histogram latency = new Histogram();

    /** {@link Long#MAX_VALUE} until it is closed. */
    long endedNs = Long.MAX_VALUE;

    long sent;
    long heard;

    Window(long beganNs, long sentBefore, long heardBefore) {
        this.beganNs = beganNs;
        this.sentBefore = sentBefore;
        this.heardBefore = heardBefore;
    }

    void close(long nowNs, long sentNow, long heardNow) {
        endedNs = nowNs;
        sent = sentNow - sentBefore;
        heard = heardNow - heardBefore;
    }

    boolean holds(long ns) {
        return ns >= beganNs && ns < endedNs;
    }

    double seconds() {
        return (endedNs - beganNs) / 1e9;
    }
}
