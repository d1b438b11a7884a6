package org.regatta.bench.vm.mpegaudio;

/**
 * Splits a signal into 32 bands of equal width, and joins them again; the output is the input delayed by {@link #DELAY}
 * samples.
 *
 * <p>The structure is that of the standard. Its window of 512 numbers is not copied but computed: a low-pass filter (a
 * sinc under a Kaiser window). Its gain at the border of two bands is 1/sqrt(2), so that their powers add up to 1.
 *
 * <p>Source: ISO/IEC 11172-3:1993, figures 3-A.2 (synthesis) and 3-C.1 (analysis).
 */
final class FilterBank {
    static final int BANDS = 32;
    static final int DELAY = 481;
    private static final int LENGTH = 512;
    private static final int CENTRE = LENGTH / 2;
    private static final double KAISER_BETA = 10;
    private static final double[] WINDOW = window();
    private static final double[][] ANALYSIS = new double[BANDS][2 * BANDS];
    private static final double[][] SYNTHESIS = new double[2 * BANDS][BANDS];

    static {
        for (int band = 0; band < BANDS; band++) {
            for (int k = 0; k < 2 * BANDS; k++) {
                ANALYSIS[band][k] = StrictMath.cos((2 * band + 1) * (k - 16) * Math.PI / 64);
                SYNTHESIS[k][band] = StrictMath.cos((2 * band + 1) * (k + 16) * Math.PI / 64);
            }
        }
    }

    private FilterBank() {}

    /** For one channel. */
    static final class Analysis {
        private final double[] past = new double[LENGTH];
        private final double[] folded = new double[2 * BANDS];

        /**
         * @param samples 32 new ones, starting at {@code at}
         * @param bands receives one value per band
         */
        void split(double[] samples, int at, double[] bands) {
            System.arraycopy(past, 0, past, BANDS, LENGTH - BANDS);
            for (int i = 0; i < BANDS; i++) {
                past[BANDS - 1 - i] = samples[at + i];
            }
            for (int i = 0; i < 2 * BANDS; i++) {
                double sum = 0;
                for (int j = i; j < LENGTH; j += 2 * BANDS) {
                    sum += WINDOW[j] * past[j];
                }
                folded[i] = sum;
            }
            for (int band = 0; band < BANDS; band++) {
                double sum = 0;
                for (int k = 0; k < 2 * BANDS; k++) {
                    sum += ANALYSIS[band][k] * folded[k];
                }
                bands[band] = sum;
            }
        }
    }

    /** For one channel. */
    static final class Synthesis {
        private final double[] past = new double[2 * LENGTH];
        /** Position of the newest 64 values; older ones follow in a ring. */
        private int newest;

        /**
         * @param bands one value per band
         * @param samples receives 32 of them, starting at {@code at}
         */
        void join(double[] bands, double[] samples, int at) {
            newest = newest - 2 * BANDS & 2 * LENGTH - 1;
            for (int i = 0; i < 2 * BANDS; i++) {
                double[] row = SYNTHESIS[i];
                double sum = 0;
                for (int band = 0; band < BANDS; band++) {
                    sum += row[band] * bands[band];
                }
                past[newest + i] = sum;
            }
            for (int j = 0; j < BANDS; j++) {
                double sum = 0;
                for (int i = 0; i < 8; i++) {
                    int even = newest + 128 * i + j & 2 * LENGTH - 1;
                    int odd = newest + 128 * i + 96 + j & 2 * LENGTH - 1;
                    sum += WINDOW[64 * i + j] * past[even] + WINDOW[64 * i + 32 + j] * past[odd];
                }
                samples[at + j] = BANDS * sum;
            }
        }
    }

    /**
     * The filter, with inverted sign in every second block of 64, because the cosines continue with the opposite sign.
     */
    private static double[] window() {
        double low = Math.PI / 64;
        double high = Math.PI / 32;
        double[] filter = null;
        // The wider the filter, the higher its gain at the border.
        for (int i = 0; i < 50; i++) {
            double cutoff = (low + high) / 2;
            filter = lowPass(cutoff);
            if (gainAtBorder(filter) < Math.sqrt(0.5)) {
                low = cutoff;
            } else {
                high = cutoff;
            }
        }
        double[] window = new double[LENGTH];
        for (int n = 0; n < LENGTH; n++) {
            // Analysis and synthesis each halve the amplitude, hence 2.
            window[n] = (n / 64 % 2 == 0 ? 2 : -2) * filter[n];
        }
        return window;
    }

    private static double[] lowPass(double cutoff) {
        double[] filter = new double[LENGTH];
        double sum = 0;
        for (int n = 1; n < LENGTH; n++) {
            int t = n - CENTRE;
            double sinc = t == 0 ? cutoff / Math.PI : StrictMath.sin(cutoff * t) / (Math.PI * t);
            double x = t / (double) CENTRE;
            filter[n] = sinc * bessel(KAISER_BETA * Math.sqrt(1 - x * x));
            sum += filter[n];
        }
        for (int n = 0; n < LENGTH; n++) {
            filter[n] /= sum;
        }
        return filter;
    }

    private static double gainAtBorder(double[] filter) {
        double gain = 0;
        for (int n = 0; n < LENGTH; n++) {
            gain += filter[n] * StrictMath.cos((n - CENTRE) * Math.PI / 64);
        }
        return gain;
    }

    /** The modified Bessel function of the first kind and order 0, from its series. */
    private static double bessel(double x) {
        double term = 1;
        double sum = 1;
        for (int k = 1; term > sum * 1e-17; k++) {
            term *= x / 2 / k * (x / 2 / k);
            sum += term;
        }
        return sum;
    }
}
