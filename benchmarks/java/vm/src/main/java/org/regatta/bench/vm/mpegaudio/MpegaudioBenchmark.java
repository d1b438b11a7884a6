package org.regatta.bench.vm.mpegaudio;

import java.util.Arrays;
import java.util.Random;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;

/**
 * Decodes a stream similar to MPEG-1 layer III: frames with a bit reservoir, Huffman codes, quantisation with the power
 * 4/3, 18-point inverse MDCT, 32-band synthesis. Setup encodes the stream from a seeded tune. The output is the
 * samples.
 *
 * <p>Stresses: floating point in loops over arrays, and single bits. It allocates almost nothing, and so shows the cost
 * of an idle collector. Only + - * / and tables: the same samples on every JVM.
 */
public final class MpegaudioBenchmark implements Benchmark {
    public static final int MAX_SIZE = 1000;
    private static final int FRAMES_PER_SIZE = 10;

    /** Number of decodings per iteration: encoding is slow and is not measured. */
    private static final int PASSES = 12;

    private static final int DELAY = FilterBank.DELAY + Mdct.GRANULE;

    /** Minimum signal-to-noise ratio of 20 dB; the encoder reaches more, and a wrong decoder about 0 dB. */
    private static final double LEAST_POWER_RATIO = 100;

    private short[] original;
    private byte[] stream;
    private short[] pcm;
    private int[] sums;

    @Override
    public void setup(int size, long seed) {
        int samples = size * FRAMES_PER_SIZE * Frame.SAMPLES;
        double[][] channels = Music.play(new Random(seed), samples);
        original = new short[Frame.CHANNELS * samples];
        for (int i = 0; i < original.length; i++) {
            original[i] = Decoder.sixteenBits(channels[i % Frame.CHANNELS][i / Frame.CHANNELS]);
        }
        stream = new Encoder().encode(channels);
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        pcm = null;
        sums = new int[PASSES];
    }

    @Override
    public long iterate(int iteration) throws WrongResultException {
        pcm = new short[original.length];
        long sum = 0;
        for (int pass = 0; pass < PASSES; pass++) {
            new Decoder().decode(stream, pcm);
            sums[pass] = Arrays.hashCode(pcm);
            sum = 31 * sum + sums[pass];
        }
        return sum;
    }

    @Override
    public void digest(OutputDigest out) throws WrongResultException {
        for (int pass = 1; pass < PASSES; pass++) {
            if (sums[pass] != sums[0]) {
                throw new WrongResultException("pass " + pass + " decoded other samples than the first");
            }
        }
        double signal = 0;
        double noise = 0;
        for (int i = Frame.CHANNELS * DELAY; i < pcm.length; i++) {
            double expected = original[i - Frame.CHANNELS * DELAY];
            signal += expected * expected;
            noise += (pcm[i] - expected) * (pcm[i] - expected);
        }
        if (!(signal > LEAST_POWER_RATIO * noise)) {
            throw new WrongResultException("the signal's power is " + signal / noise + " times the noise's, expected "
                    + LEAST_POWER_RATIO + " at least");
        }
        out.put(pcm.length);
        for (short sample : pcm) {
            out.put(sample);
        }
    }
}
