package org.regatta.bench.vm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * LZW with codes of 9 to 16 bits and a dictionary that is restarted when it is full.
 *
 * <p>The dictionary consists of objects on purpose (keys, boxed codes, map nodes, byte arrays): the benchmark tests a
 * runtime that allocates and collects, not the fastest compressor.
 *
 * <p>Source: T. A. Welch, A Technique for High-Performance Data Compression, IEEE Computer 17(6), 1984.
 */
final class Lzw {
    private static final int ALPHABET = 256;
    private static final int MIN_WIDTH = 9;
    private static final int MAX_WIDTH = 16;
    private static final int MAX_CODES = 1 << MAX_WIDTH;

    private Lzw() {}

    /** A known sequence and the byte that follows it. */
    private static final class Extension {
        private final int prefixCode;
        private final byte next;

        Extension(int prefixCode, byte next) {
            this.prefixCode = prefixCode;
            this.next = next;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Extension
                    && ((Extension) other).prefixCode == prefixCode
                    && ((Extension) other).next == next;
        }

        @Override
        public int hashCode() {
            return 31 * prefixCode + next;
        }
    }

    /** @param text at least one byte */
    static byte[] compress(byte[] text) {
        BitWriter out = new BitWriter(text.length / 2 + 16);
        Map<Extension, Integer> dictionary = new HashMap<>();
        int codes = ALPHABET;
        int current = text[0] & 0xff;
        for (int i = 1; i < text.length; i++) {
            Extension extension = new Extension(current, text[i]);
            Integer known = dictionary.get(extension);
            if (known != null) {
                current = known;
                continue;
            }
            out.write(current, width(codes));
            if (codes == MAX_CODES) {
                dictionary = new HashMap<>();
                codes = ALPHABET;
            } else {
                dictionary.put(extension, codes++);
            }
            current = text[i] & 0xff;
        }
        out.write(current, width(codes));
        return out.toByteArray();
    }

    /**
     * @param compressed output of {@code compress}
     * @param length length of the text
     */
    static byte[] expand(byte[] compressed, int length) {
        BitReader in = new BitReader(compressed);
        byte[] text = new byte[length];
        List<byte[]> dictionary = alphabet();
        byte[] previous = null;
        int filled = 0;
        while (filled < length) {
            // The reader is one entry behind the writer, except after a restart.
            int codes = previous == null ? dictionary.size() : dictionary.size() + 1;
            int code = in.read(width(codes));
            byte[] sequence;
            if (code < dictionary.size()) {
                sequence = dictionary.get(code);
            } else {
                // The entry under construction: the previous sequence and its own first byte.
                sequence = extend(previous, previous[0]);
            }
            System.arraycopy(sequence, 0, text, filled, sequence.length);
            filled += sequence.length;
            if (previous != null) {
                dictionary.add(extend(previous, sequence[0]));
            }
            if (codes == MAX_CODES) {
                dictionary = alphabet();
                previous = null;
            } else {
                previous = sequence;
            }
        }
        return text;
    }

    private static int width(int codes) {
        return Math.max(MIN_WIDTH, Integer.SIZE - Integer.numberOfLeadingZeros(codes - 1));
    }

    private static byte[] extend(byte[] sequence, byte next) {
        byte[] extended = Arrays.copyOf(sequence, sequence.length + 1);
        extended[sequence.length] = next;
        return extended;
    }

    private static List<byte[]> alphabet() {
        List<byte[]> dictionary = new ArrayList<>();
        for (int i = 0; i < ALPHABET; i++) {
            dictionary.add(new byte[] {(byte) i});
        }
        return dictionary;
    }

    private static final class BitWriter {
        private byte[] bytes;
        private int filled;
        private long pending;
        private int pendingBits;

        BitWriter(int capacity) {
            bytes = new byte[capacity];
        }

        void write(int code, int width) {
            pending = pending << width | code;
            pendingBits += width;
            while (pendingBits >= Byte.SIZE) {
                pendingBits -= Byte.SIZE;
                put((byte) (pending >>> pendingBits));
            }
        }

        byte[] toByteArray() {
            if (pendingBits > 0) {
                put((byte) (pending << Byte.SIZE - pendingBits));
                pendingBits = 0;
            }
            return Arrays.copyOf(bytes, filled);
        }

        private void put(byte b) {
            if (filled == bytes.length) {
                bytes = Arrays.copyOf(bytes, filled * 2);
            }
            bytes[filled++] = b;
        }
    }

    private static final class BitReader {
        private final byte[] bytes;
        private int next;
        private long pending;
        private int pendingBits;

        BitReader(byte[] bytes) {
            this.bytes = bytes;
        }

        int read(int width) {
            while (pendingBits < width) {
                pending = pending << Byte.SIZE | bytes[next++] & 0xff;
                pendingBits += Byte.SIZE;
            }
            pendingBits -= width;
            return (int) (pending >>> pendingBits & (1L << width) - 1);
        }
    }
}
