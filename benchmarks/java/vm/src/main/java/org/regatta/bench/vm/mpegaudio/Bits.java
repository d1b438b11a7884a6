package org.regatta.bench.vm.mpegaudio;

import java.util.Arrays;

/** Reads and writes bits, the highest first. */
final class Bits {
    private Bits() {}

    static final class Writer {
        private byte[] bytes = new byte[256];
        private int bits;

        /** Write the low {@code width} bits of a value; width from 0 to 31. */
        void write(int value, int width) {
            if (bits + width > Byte.SIZE * bytes.length) {
                bytes = Arrays.copyOf(bytes, 2 * bytes.length);
            }
            for (int i = width - 1; i >= 0; i--, bits++) {
                bytes[bits >> 3] |= (byte) ((value >>> i & 1) << 7 - (bits & 7));
            }
        }

        int bits() {
            return bits;
        }

        /** Pad the last byte with zeros. */
        byte[] toByteArray() {
            return Arrays.copyOf(bytes, (bits + Byte.SIZE - 1) / Byte.SIZE);
        }
    }

    static final class Reader {
        private byte[] bytes;
        private int at;

        /** Continue at a byte of an array. */
        void start(byte[] from, int firstByte) {
            bytes = from;
            at = Byte.SIZE * firstByte;
        }

        int read(int width) {
            int value = 0;
            for (int i = 0; i < width; i++) {
                value = value << 1 | readBit();
            }
            return value;
        }

        int readBit() {
            int bit = bytes[at >> 3] >> 7 - (at & 7) & 1;
            at++;
            return bit;
        }

        /** Position of the next bit. */
        int at() {
            return at;
        }

        void goTo(int bit) {
            at = bit;
        }
    }
}
