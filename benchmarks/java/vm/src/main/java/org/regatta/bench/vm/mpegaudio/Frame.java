package org.regatta.bench.vm.mpegaudio;

/**
 * A frame of two granules of two channels: 4 bytes with a mark and a checksum, side information, and a slot for main
 * data of the same size in every frame. Main data is contiguous across the slots, and may begin in the slots of earlier
 * frames: a frame that needs more than its slot uses free space of earlier slots (the bit reservoir).
 *
 * <p>Source: ISO/IEC 11172-3:1993, 2.4.1 (structure) and 2.4.3.1 (checksum); the field widths are our own.
 */
final class Frame {
    static final int CHANNELS = 2;
    static final int GRANULES = 2;
    static final int SAMPLES = GRANULES * Mdct.GRANULE;

    /** As at 128 kbit/s and 44.1 kHz. */
    static final int BYTES = 417;

    static final int HEADER_BYTES = 4;
    static final int SIDE_BYTES = (9 + 1 + GRANULES * CHANNELS * Granule.SIDE_BITS + 7) / 8;
    static final int SLOT_BYTES = BYTES - HEADER_BYTES - SIDE_BYTES;
    static final int MARK = 0xFFFB;

    /** Maximum distance of main data before its slot: 9 bits. */
    static final int RESERVOIR_BYTES = 511;

    int reservoirBytes;
    /** Whether the channels are the sum and the difference of left and right. */
    boolean middleAndSide;

    final Granule[][] granules = new Granule[GRANULES][CHANNELS];

    Frame() {
        for (Granule[] channels : granules) {
            for (int channel = 0; channel < CHANNELS; channel++) {
                channels[channel] = new Granule();
            }
        }
    }

    byte[] side() {
        Bits.Writer out = new Bits.Writer();
        out.write(reservoirBytes, 9);
        out.write(middleAndSide ? 1 : 0, 1);
        for (Granule[] channels : granules) {
            for (Granule granule : channels) {
                granule.write(out);
            }
        }
        return out.toByteArray();
    }

    void readSide(Bits.Reader in) {
        reservoirBytes = in.read(9);
        middleAndSide = in.readBit() == 1;
        for (Granule[] channels : granules) {
            for (Granule granule : channels) {
                granule.read(in);
            }
        }
    }

    /** CRC-16 with the polynomial 0x8005. */
    static int checkSum(byte[] bytes, int from, int length) {
        int sum = 0xFFFF;
        for (int i = from; i < from + length; i++) {
            sum ^= (bytes[i] & 0xff) << 8;
            for (int bit = 0; bit < Byte.SIZE; bit++) {
                sum = sum << 1 ^ ((sum & 0x8000) == 0 ? 0 : 0x8005);
            }
            sum &= 0xFFFF;
        }
        return sum;
    }
}
