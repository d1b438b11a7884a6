package org.regatta.bench.chat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;

/** Splits the bytes of a connection into frames. One per connection; not thread-safe. */
final class FrameReader {
    /** Some 40 messages: more than a room of 20 sends to one user while each user waits for its own message. */
    private static final int BUFFER_BYTES = 4 * Frame.MOST_BYTES;

    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
    private final Sink sink;
    private long readAtNs;

    /** Receiver of the frames. */
    interface Sink {
        /**
         * Process one frame.
         *
         * @param kind a kind of {@link Frame}; the frame has the corresponding length
         * @param frame at the first byte after the kind, limited to the end of the frame; reused after the call
         */
        void take(byte kind, ByteBuffer frame) throws IOException;
    }

    FrameReader(Sink sink) {
        this.sink = sink;
    }

    /**
     * Read once, blocking if the stream blocks, and pass on every complete frame.
     *
     * @return false at the end of the stream
     * @throws ProtocolException for bytes that are no frame, or an end inside a frame
     */
    boolean readFrom(InputStream in) throws IOException {
        int count = in.read(buffer.array(), buffer.position(), buffer.remaining());
        if (count > 0) {
            buffer.position(buffer.position() + count);
        }
        return handOn(count);
    }

    /** Same as {@link #readFrom(InputStream)}, for a non-blocking channel. */
    boolean readFrom(ReadableByteChannel in) throws IOException {
        int count = in.read(buffer);
        readAtNs = System.nanoTime();
        return handOn(count);
    }

    /** Time at which the bytes of the current frames were read from the channel. */
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
