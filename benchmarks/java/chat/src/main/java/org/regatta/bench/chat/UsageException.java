package org.regatta.bench.chat;

/** A program was started with arguments that it cannot work with. */
final class UsageException extends Exception {
    private static final long serialVersionUID = 1L;

    UsageException(String message) {
        super(message);
    }
}
