package org.regatta.bench.chat;

/** A user did not receive every message of its room exactly once, intact, in the order of its sender. */
final class WrongDeliveryException extends Exception {
    private static final long serialVersionUID = 1L;

    WrongDeliveryException(String message) {
        super(message);
    }
}
