package org.regatta.bench;

/** The workload ran, but its output is wrong. */
public final class WrongResultException extends Exception {
    private static final long serialVersionUID = 1L;

    public WrongResultException(String message) {
        super(message);
    }
}
