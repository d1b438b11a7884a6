package org.regatta.bench;

/** The workload cannot run on this JVM, which lacks a module, a class or a feature. */
public final class UnsupportedRuntimeException extends Exception {
    private static final long serialVersionUID = 1L;

    /** @param message the missing item, in the JVM's words if available; one line */
    public UnsupportedRuntimeException(String message) {
        super(message);
    }
}
