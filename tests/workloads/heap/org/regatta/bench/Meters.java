package org.regatta.bench;

/** The borders of windows, as in the harness: the agent finds this class by its name. */
public final class Meters {
    public static long calls;

    private Meters() {}

    public static void start() {
        calls++;
    }

    public static void stop() {
        calls++;
    }
}
