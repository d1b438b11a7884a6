package org.regatta.bench;

/** Where results go so that the JIT must produce them. */
public final class Sink {
    private static volatile long sunk;

    private Sink() {}

    /** A volatile store can be neither dropped nor moved out of the measured region. */
    public static void consume(long value) {
        sunk = value;
    }
}
