package org.regatta.bench;

/** Consumes results so that the JIT must compute them. */
public final class Sink {
    private static volatile long sunk;

    private Sink() {}

    /** A volatile store can be neither dropped nor moved out of the measured region. */
    public static void consume(long value) {
        sunk = value;
    }
}
