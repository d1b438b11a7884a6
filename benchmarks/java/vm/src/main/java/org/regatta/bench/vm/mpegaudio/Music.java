package org.regatta.bench.vm.mpegaudio;

import java.util.Random;

/** A seeded tune of struck strings, with decaying harmonics and a little noise; two channels. */
final class Music {
    private static final double RATE_HZ = 44_100;
    private static final int VOICES = 4;
    private static final int HARMONICS = 8;
    private static final double NOISE = 0.002;
    /** Half-tones above 110 Hz. */
    private static final int[] SCALE = {0, 2, 3, 5, 7, 8, 10, 12, 14, 15, 17, 19, 20, 22, 24, 27, 31, 36};

    private Music() {}

    /** @return {@code samples} of left and of right, between -1 and 1 */
    static double[][] play(Random random, int samples) {
        double[][] channels = new double[Frame.CHANNELS][samples];
        for (int voice = 0; voice < VOICES; voice++) {
            int start = 0;
            while (start < samples) {
                int length = (1 + random.nextInt(6)) * 4_000;
                note(random, channels, start, Math.min(samples, start + length));
                start += length;
            }
        }
        for (double[] channel : channels) {
            for (int i = 0; i < samples; i++) {
                channel[i] += NOISE * (2 * random.nextDouble() - 1);
            }
        }
        return channels;
    }

    private static void note(Random random, double[][] channels, int from, int to) {
        double halfTones = SCALE[random.nextInt(SCALE.length)];
        double frequency = 110 * StrictMath.pow(2, halfTones / 12);
        double balance = 0.2 + 0.6 * random.nextDouble();
        for (int harmonic = 1; harmonic <= HARMONICS; harmonic++) {
            double angle = 2 * Math.PI * harmonic * frequency / RATE_HZ;
            double decay = 1 - 0.00004 * harmonic;
            // A point on a spiral towards the centre; its height is the tone.
            double stepX = decay * StrictMath.cos(angle);
            double stepY = decay * StrictMath.sin(angle);
            double x = 0.4 / VOICES / harmonic;
            double y = 0;
            for (int i = from; i < to; i++) {
                channels[0][i] += balance * y;
                channels[1][i] += (1 - balance) * y;
                double turned = x * stepX - y * stepY;
                y = x * stepY + y * stepX;
                x = turned;
            }
        }
    }
}
