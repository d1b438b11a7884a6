package org.regatta.bench.chat;

import java.io.IOException;

/** The peer violated the protocol. */
final class ProtocolException extends IOException {
    private static final long serialVersionUID = 1L;

    ProtocolException(String message) {
        super(message);
    }
}
