package org.regatta.bench.chat;

/** The arguments of a program are invalid. */
final class UsageException extends Exception {
    private static final long serialVersionUID = 1L;

    UsageException(String message) {
        super(message);
    }
}
