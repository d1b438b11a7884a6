package org.regatta.bench.vm.mpegaudio;

import org.regatta.bench.WrongResultException;

/** Converts a stream of frames to 16-bit samples. One decoder reads one stream, once. */
final class Decoder {
    private static final double HALF_ROOT = Math.sqrt(0.5);

    private final FilterBank.Synthesis[] banks = {new FilterBank.Synthesis(), new FilterBank.Synthesis()};
    private final Mdct.Inverse[] transforms = {new Mdct.Inverse(), new Mdct.Inverse()};
    private final Bits.Reader bits = new Bits.Reader();
    private final Frame frame = new Frame();
    /** Data of earlier slots that may still be needed, then the slot of this frame. */
    private final byte[] slots = new byte[Frame.RESERVOIR_BYTES + Frame.SLOT_BYTES];

    private final int[] scaleFactors = new int[Granule.SCALE_FACTORS + 1];
    private final int[] values = new int[Mdct.GRANULE];
    private final double[][] lines = new double[Frame.CHANNELS][Mdct.GRANULE];
    private final double[] bands = new double[Mdct.GRANULE];
    private final double[] moment = new double[FilterBank.BANDS];
    private final double[] samples = new double[FilterBank.BANDS];

    /**
     * @param pcm receives left and right alternately, 1152 each per frame
     * @throws WrongResultException if the stream is damaged
     */
    void decode(byte[] stream, short[] pcm) throws WrongResultException {
        int filled = 0;
        for (int at = 0; at < stream.length; at += Frame.BYTES) {
            readFrame(stream, at);
            for (Granule[] granule : frame.granules) {
                decodeGranule(granule, pcm, filled);
                filled += Frame.CHANNELS * Mdct.GRANULE;
            }
        }
    }

    private void readFrame(byte[] stream, int at) throws WrongResultException {
        bits.start(stream, at);
        int mark = bits.read(16);
        int expected = bits.read(16);
        int sum = Frame.checkSum(stream, at + Frame.HEADER_BYTES, Frame.SIDE_BYTES);
        if (mark != Frame.MARK || sum != expected) {
            throw new WrongResultException("the frame at byte " + at + " is damaged: mark " + mark + ", check sum "
                    + sum + ", expected " + Frame.MARK + " and " + expected);
        }
        frame.readSide(bits);
        System.arraycopy(slots, Frame.SLOT_BYTES, slots, 0, Frame.RESERVOIR_BYTES);
        System.arraycopy(
                stream, at + Frame.BYTES - Frame.SLOT_BYTES, slots, Frame.RESERVOIR_BYTES, Frame.SLOT_BYTES);
        bits.start(slots, Frame.RESERVOIR_BYTES - frame.reservoirBytes);
    }

    private void decodeGranule(Granule[] granule, short[] pcm, int at) throws WrongResultException {
        int used = 0;
        for (int channel = 0; channel < Frame.CHANNELS; channel++) {
            used = Math.max(used, readLines(granule[channel], lines[channel]));
        }
        if (frame.middleAndSide) {
            for (int i = 0; i < used; i++) {
                double middle = lines[0][i];
                double side = lines[1][i];
                lines[0][i] = (middle + side) * HALF_ROOT;
                lines[1][i] = (middle - side) * HALF_ROOT;
            }
        }
        for (int channel = 0; channel < Frame.CHANNELS; channel++) {
            transforms[channel].transform(lines[channel], used, bands);
            for (int t = 0; t < Mdct.LINES; t++) {
                System.arraycopy(bands, t * FilterBank.BANDS, moment, 0, FilterBank.BANDS);
                banks[channel].join(moment, samples, 0);
                for (int i = 0; i < FilterBank.BANDS; i++) {
                    pcm[at + Frame.CHANNELS * (t * FilterBank.BANDS + i) + channel] = sixteenBits(samples[i]);
                }
            }
        }
    }

    /** @return index of the first trailing zero */
    private int readLines(Granule granule, double[] target) throws WrongResultException {
        int end = bits.at() + granule.mainBits;
        for (int band = 0; band < Granule.SCALE_FACTORS; band++) {
            scaleFactors[band] = bits.read(granule.scaleFactorBits);
        }
        int used = 0;
        for (int region = 0; region < Granule.REGIONS; region++) {
            HuffmanTable table = HuffmanTable.PAIRS[granule.pairTables[region]];
            for (int to = granule.regionEnd(region); used < to; used += 2) {
                table.read(values, used, bits);
            }
        }
        for (; bits.at() < end; used += 4) {
            HuffmanTable.QUADS[granule.quadTable].read(values, used, bits);
        }
        if (bits.at() != end) {
            throw new WrongResultException("a granule's code words end at bit " + bits.at() + " and not at " + end);
        }
        for (int band = 0; band < scaleFactors.length; band++) {
            double step = Power.ofTwo(granule.gain - Granule.UNIT_GAIN - 2 * scaleFactors[band]);
            for (int i = Granule.BAND_STARTS[band]; i < Granule.BAND_STARTS[band + 1]; i++) {
                target[i] = i < used ? Power.fourThirds(values[i]) * step : 0;
            }
        }
        return used;
    }

    static short sixteenBits(double sample) {
        double scaled = sample * Short.MAX_VALUE;
        double rounded = scaled < 0 ? scaled - 0.5 : scaled + 0.5;
        return (short) Math.max(Short.MIN_VALUE, Math.min(Short.MAX_VALUE, rounded));
    }
}
