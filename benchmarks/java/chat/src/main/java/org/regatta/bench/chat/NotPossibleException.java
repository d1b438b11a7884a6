package org.regatta.bench.chat;

/** This JVM does not support the requested mode. */
final class NotPossibleException extends Exception {
    private static final long serialVersionUID = 1L;

    NotPossibleException(String message) {
        super(message);
    }
}
