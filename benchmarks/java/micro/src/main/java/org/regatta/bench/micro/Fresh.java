package org.regatta.bench.micro;

/** A class that {@link Classes} loads again and again. */
public final class Fresh {
    private static final Object INITIALIZED = new Object();

    private final Object own = INITIALIZED;

    /** @return the same object always */
    public Object own() {
        return own;
    }
}
