package org.regatta.bench.chat;

import java.io.IOException;

/** The other side sent what the protocol does not have. */
final class ProtocolException extends IOException {
    private static final long serialVersionUID = 1L;

    ProtocolException(String message) {
        super(message);
    }
}
