package org.regatta.bench.chat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;

/** Cuts the bytes of a connection into frames. One for each connection; not for several threads. */
final class FrameReader {
    /** Some 40 messages: more than a room of 20 has on its way to one user while each waits for its own. */
    private static final int BUFFER_BYTES = 4 * Frame.MOST_BYTES;

    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
    private final Sink sink;
    private long readAtNs;

    /** Who gets the frames. */
    interface Sink {
        /**
         * Takes one frame.
         *
         * @param kind one of those of {@link Frame}, of which it has the length
         * @param frame at the first byte after the kind, limited to the frame's end; it is used again after the call
         */
        void take(byte kind, ByteBuffer frame) throws IOException;
    }

    FrameReader(Sink sink) {
        this.sink = sink;
    }

    /**
     * Reads once, which waits where the stream does, and hands on every frame that is whole.
     *
     * @return false at the end of the stream
     * @throws ProtocolException for bytes that are no frame, or an end in the middle of one
     */
    boolean readFrom(InputStream in) throws IOException {
        int count = in.read(buffer.array(), buffer.position(), buffer.remaining());
        if (count > 0) {
            buffer.position(buffer.position() + count);
        }
        return handOn(count);
    }

    /** As {@link #readFrom(InputStream)}, of a channel that does not wait. */
    boolean readFrom(ReadableByteChannel in) throws IOException {
        int count = in.read(buffer);
        readAtNs = System.nanoTime();
        return handOn(count);
    }

    /** When the bytes of the frames that are handed on now came from the channel. */
    long readAtNs() {
        return readAtNs;
    }

    private boolean handOn(int count) throws IOException {
        if (count < 0) {
            if (buffer.position() > 0) {
                throw new ProtocolException("the connection ended inside a frame");
            }
            return false;
        }
        buffer.flip();
        int end = buffer.limit();
        while (end - buffer.position() >= Frame.LENGTH_BYTES) {
            int length = buffer.getInt(buffer.position());
            if (length < 1 || length > Frame.MOST_BYTES) {
                throw new ProtocolException("a frame of " + length + " bytes");
            }
            int next = buffer.position() + Frame.LENGTH_BYTES + length;
            if (next > end) {
                break;
            }
            buffer.position(buffer.position() + Frame.LENGTH_BYTES).limit(next);
            byte kind = buffer.get();
            Frame.checkLength(kind, length);
            sink.take(kind, buffer);
            buffer.limit(end).position(next);
        }
        buffer.compact();
        return true;
    }
}
