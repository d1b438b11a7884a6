package org.regatta.bench.chat;

/** This JVM cannot do what was asked for, and never will. */
final class NotPossibleException extends Exception {
    private static final long serialVersionUID = 1L;

    NotPossibleException(String message) {
        super(message);
    }
}
