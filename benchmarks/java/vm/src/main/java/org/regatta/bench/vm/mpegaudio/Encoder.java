package org.regatta.bench.vm.mpegaudio;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Creates the stream that the benchmark decodes. */
final class Encoder {
    private final FilterBank.Analysis[] banks = {new FilterBank.Analysis(), new FilterBank.Analysis()};
    private final Mdct.Forward[] transforms = {new Mdct.Forward(), new Mdct.Forward()};
    private final Quantiser quantiser = new Quantiser();
    private final List<byte[]> sides = new ArrayList<>();
    private final ByteArrayOutputStream main = new ByteArrayOutputStream();
    private int reservoirBytes;
    private double usualDemand;

    /**
     * @param channels left and right, -1 to 1; 1152 samples per frame
     * @return consecutive frames
     */
    byte[] encode(double[][] channels) {
        int frames = channels[0].length / Frame.SAMPLES;
        for (int frame = 0; frame < frames; frame++) {
            encodeFrame(channels, frame * Frame.SAMPLES);
        }
        // The last slots may be empty.
        byte[] slots = Arrays.copyOf(main.toByteArray(), frames * Frame.SLOT_BYTES);
        byte[] stream = new byte[frames * Frame.BYTES];
        for (int frame = 0; frame < frames; frame++) {
            int at = frame * Frame.BYTES;
            byte[] side = sides.get(frame);
            int sum = Frame.checkSum(side, 0, side.length);
            stream[at] = (byte) (Frame.MARK >> 8);
            stream[at + 1] = (byte) Frame.MARK;
            stream[at + 2] = (byte) (sum >> 8);
            stream[at + 3] = (byte) sum;
            System.arraycopy(side, 0, stream, at + Frame.HEADER_BYTES, side.length);
            int slot = at + Frame.BYTES - Frame.SLOT_BYTES;
            System.arraycopy(slots, frame * Frame.SLOT_BYTES, stream, slot, Frame.SLOT_BYTES);
        }
        return stream;
    }

    private void encodeFrame(double[][] channels, int at) {
        double[][][] lines = new double[Frame.GRANULES][Frame.CHANNELS][Mdct.GRANULE];
        for (int granule = 0; granule < Frame.GRANULES; granule++) {
            for (int channel = 0; channel < Frame.CHANNELS; channel++) {
                analyse(channel, channels[channel], at + granule * Mdct.GRANULE, lines[granule][channel]);
            }
        }
        Frame frame = new Frame();
        frame.reservoirBytes = reservoirBytes;
        frame.middleAndSide = sidesAreSoft(lines);
        if (frame.middleAndSide) {
            for (double[][] granule : lines) {
                toMiddleAndSide(granule);
            }
        }
        byte[] data = quantise(frame, lines);
        sides.add(frame.side());
        main.write(data, 0, data.length);
        reservoirBytes += Frame.SLOT_BYTES - data.length;
        // The part that the next frame cannot address stays empty.
        int lost = Math.max(0, reservoirBytes - Frame.RESERVOIR_BYTES);
        main.write(new byte[lost], 0, lost);
        reservoirBytes -= lost;
    }

    private void analyse(int channel, double[] samples, int at, double[] lines) {
        double[] bands = new double[Mdct.GRANULE];
        double[] moment = new double[FilterBank.BANDS];
        for (int t = 0; t < Mdct.LINES; t++) {
            banks[channel].split(samples, at + t * FilterBank.BANDS, moment);
            System.arraycopy(moment, 0, bands, t * FilterBank.BANDS, FilterBank.BANDS);
        }
        transforms[channel].transform(bands, lines);
    }

    private static boolean sidesAreSoft(double[][][] lines) {
        double middle = 0;
        double side = 0;
        for (double[][] granule : lines) {
            for (int i = 0; i < Mdct.GRANULE; i++) {
                middle += Math.abs(granule[0][i] + granule[1][i]);
                side += Math.abs(granule[0][i] - granule[1][i]);
            }
        }
        return 2 * side < middle;
    }

    private static void toMiddleAndSide(double[][] granule) {
        double half = Math.sqrt(0.5);
        for (int i = 0; i < Mdct.GRANULE; i++) {
            double left = granule[0][i];
            double right = granule[1][i];
            granule[0][i] = (left + right) * half;
            granule[1][i] = (left - right) * half;
        }
    }

    /** Louder granules get more bits, and a frame that is louder than average gets a part of the reservoir. */
    private byte[] quantise(Frame frame, double[][][] lines) {
        double[][] demands = new double[Frame.GRANULES][Frame.CHANNELS];
        double sum = 0;
        for (int granule = 0; granule < Frame.GRANULES; granule++) {
            for (int channel = 0; channel < Frame.CHANNELS; channel++) {
                for (double line : lines[granule][channel]) {
                    demands[granule][channel] += Math.sqrt(Math.abs(line));
                }
                sum += demands[granule][channel];
            }
        }
        int slotBits = Byte.SIZE * Frame.SLOT_BYTES;
        double bits = sum > usualDemand ? slotBits + 0.6 * Byte.SIZE * reservoirBytes : 0.9 * slotBits;
        usualDemand = usualDemand == 0 ? sum : 0.9 * usualDemand + 0.1 * sum;
        Bits.Writer out = new Bits.Writer();
        for (int granule = 0; granule < Frame.GRANULES; granule++) {
            for (int channel = 0; channel < Frame.CHANNELS; channel++) {
                double share = sum == 0 ? 0 : demands[granule][channel] / sum;
                Granule target = frame.granules[granule][channel];
                quantiser.quantise(lines[granule][channel], (int) (bits * share), target, out);
            }
        }
        return out.toByteArray();
    }
}
