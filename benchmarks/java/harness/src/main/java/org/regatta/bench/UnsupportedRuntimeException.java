package org.regatta.bench;

/** The workload cannot run on this JVM, which lacks a module, a class or a feature; no fault of anybody's. */
public final class UnsupportedRuntimeException extends Exception {
    private static final long serialVersionUID = 1L;

    /** @param message what is missing, in the JVM's own words where it has any; one line */
    public UnsupportedRuntimeException(String message) {
        super(message);
    }
}
