package org.regatta.bench;

/** The command line or the environment is wrong: expected, got. Ends the process with exit code 2. */
final class UsageException extends Exception {
    private static final long serialVersionUID = 1L;

    UsageException(String message) {
        super(message);
    }
}
