package org.regatta.bench.chat;

/** A user did not hear every message of its room exactly once, whole, in its sender's order. */
final class WrongDeliveryException extends Exception {
    private static final long serialVersionUID = 1L;

    WrongDeliveryException(String message) {
        super(message);
    }
}
