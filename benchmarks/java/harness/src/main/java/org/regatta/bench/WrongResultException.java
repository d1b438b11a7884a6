package org.regatta.bench;

/** The workload ran, and its output is not what it must be. */
public final class WrongResultException extends Exception {
    private static final long serialVersionUID = 1L;

    public WrongResultException(String message) {
        super(message);
    }
}
