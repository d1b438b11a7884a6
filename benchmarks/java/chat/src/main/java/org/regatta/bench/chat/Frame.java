package org.regatta.bench.chat;

import java.nio.ByteBuffer;

/**
 * The protocol of a user connection. All numbers are big-endian.
 *
 * <pre>
 * int length   of the rest, 1 to {@link #MOST_BYTES}
 * byte kind    JOIN, JOINED or MESSAGE
 * int room     from 0
 * int user     from 0: who joins or sends
 * MESSAGE only:
 *   int sequence       from 0, counted by the sender
 *   long plannedNs     planned send time, on the sender's clock
 *   {@link #BODY_BYTES} bytes of body
 * </pre>
 *
 * <p>The server replies to a JOIN with JOINED when it delivers the messages of the room to that user. It forwards a MESSAGE
 * unchanged to all users in the room, including the sender.
 */
final class Frame {
    static final byte JOIN = 1;
    static final byte JOINED = 2;
    static final byte MESSAGE = 3;

    /** The longest frame, without its length. */
    static final int MOST_BYTES = 1024;

    static final int LENGTH_BYTES = Integer.BYTES;
    static final int BODY_BYTES = 64;

    private static final int PLACE_BYTES = 1 + 2 * Integer.BYTES;
    static final int MESSAGE_BYTES = PLACE_BYTES + Integer.BYTES + Long.BYTES + BODY_BYTES;

    private Frame() {}

    /** A JOIN or JOINED, with its length. */
    static byte[] place(byte kind, int room, int user) {
        ByteBuffer frame = ByteBuffer.allocate(LENGTH_BYTES + PLACE_BYTES);
        return frame.putInt(PLACE_BYTES).put(kind).putInt(room).putInt(user).array();
    }

    /** A MESSAGE, with its length; its body is determined by sender and sequence number. */
    static byte[] message(int room, int user, int sequence, long plannedNs) {
        ByteBuffer frame = ByteBuffer.allocate(LENGTH_BYTES + MESSAGE_BYTES);
        frame.putInt(MESSAGE_BYTES).put(MESSAGE).putInt(room).putInt(user).putInt(sequence).putLong(plannedNs);
        long word = firstWord(room, user, sequence);
        while (frame.hasRemaining()) {
            frame.putLong(word);
            word = nextWord(word);
        }
        return frame.array();
    }

    /** Whether the rest of a message, from its body on, equals that of {@link #message}. */
    static boolean bodyIsRight(ByteBuffer body, int room, int user, int sequence) {
        long word = firstWord(room, user, sequence);
        for (int i = 0; i < BODY_BYTES / Long.BYTES; i++) {
            if (body.getLong() != word) {
                return false;
            }
            word = nextWord(word);
        }
        return true;
    }

    /** Throw unless a frame has the length of its kind. */
    static void checkLength(byte kind, int length) throws ProtocolException {
        int expected = kind == MESSAGE ? MESSAGE_BYTES : PLACE_BYTES;
        if (kind < JOIN || kind > MESSAGE || length != expected) {
            throw new ProtocolException("a frame of kind " + kind + " and " + length + " bytes");
        }
    }

    private static long firstWord(int room, int user, int sequence) {
        return nextWord(((long) room << Integer.SIZE | user) * 0x9E3779B97F4A7C15L + sequence);
    }

    /** The finaliser of SplitMix64. Source: Steele, Lea and Flood, OOPSLA 2014. */
    private static long nextWord(long word) {
        long mixed = (word ^ word >>> 30) * 0xBF58476D1CE4E5B9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94D049BB133111EBL;
        return mixed ^ mixed >>> 31;
    }
}
