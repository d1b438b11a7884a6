package org.regatta.bench.vm.mpegaudio;

/**
 * Splits each band of a granule into 18 lines, and joins them again; windows overlap by half. Long blocks only.
 *
 * <p>Source: ISO/IEC 11172-3:1993, 2.4.3.4 (inverse transform, aliasing reduction, frequency inversion).
 */
final class Mdct {
    static final int LINES = 18;
    static final int GRANULE = LINES * FilterBank.BANDS;
    private static final double[][] COSINES = new double[2 * LINES][LINES];
    private static final double[] SLOPE = new double[2 * LINES];
    private static final double[] ALIAS = {-0.6, -0.535, -0.33, -0.185, -0.095, -0.041, -0.0142, -0.0037};
    private static final double[] KEPT = new double[ALIAS.length];
    private static final double[] SWAPPED = new double[ALIAS.length];

    static {
        for (int n = 0; n < 2 * LINES; n++) {
            SLOPE[n] = StrictMath.sin((n + 0.5) * Math.PI / (2 * LINES));
            for (int k = 0; k < LINES; k++) {
                COSINES[n][k] = StrictMath.cos((2 * n + 1 + LINES) * (2 * k + 1) * Math.PI / (4 * LINES));
            }
        }
        for (int i = 0; i < ALIAS.length; i++) {
            KEPT[i] = 1 / Math.sqrt(1 + ALIAS[i] * ALIAS[i]);
            SWAPPED[i] = ALIAS[i] * KEPT[i];
        }
    }

    private Mdct() {}

    /** For one channel. */
    static final class Forward {
        private final double[] previous = new double[GRANULE];

        /**
         * @param bands 18 values of each band; the value of band b at time t is at 32 t + b
         * @param lines receives 18 lines of each band, band by band
         */
        void transform(double[] bands, double[] lines) {
            for (int band = 0; band < FilterBank.BANDS; band++) {
                for (int k = 0; k < LINES; k++) {
                    double sum = 0;
                    for (int n = 0; n < LINES; n++) {
                        int at = FilterBank.BANDS * n + band;
                        double sign = (band & n & 1) == 0 ? 1 : -1;
                        sum += sign * SLOPE[n] * COSINES[n][k] * previous[at]
                                + sign * SLOPE[n + LINES] * COSINES[n + LINES][k] * bands[at];
                    }
                    lines[LINES * band + k] = sum / 9;
                }
            }
            System.arraycopy(bands, 0, previous, 0, GRANULE);
            butterflies(lines, FilterBank.BANDS, -1);
        }
    }

    /** For one channel. */
    static final class Inverse {
        private final double[] overlap = new double[GRANULE];

        /**
         * @param lines as above; changed
         * @param used lines from here on are 0
         * @param bands as above
         */
        void transform(double[] lines, int used, double[] bands) {
            // The butterflies at the upper border of a band modify lines of the next one.
            int usedBands = Math.min(FilterBank.BANDS, (used + LINES - 1) / LINES + 1);
            butterflies(lines, usedBands, 1);
            for (int band = 0; band < FilterBank.BANDS; band++) {
                boolean silent = band >= usedBands;
                for (int n = 0; n < LINES; n++) {
                    int at = FilterBank.BANDS * n + band;
                    double value = overlap[at] + (silent ? 0 : SLOPE[n] * sum(COSINES[n], lines, LINES * band));
                    bands[at] = (band & n & 1) == 0 ? value : -value;
                    overlap[at] = silent ? 0 : SLOPE[n + LINES] * sum(COSINES[n + LINES], lines, LINES * band);
                }
            }
        }

        private static double sum(double[] cosines, double[] lines, int from) {
            double sum = 0;
            for (int k = 0; k < LINES; k++) {
                sum += cosines[k] * lines[from + k];
            }
            return sum;
        }
    }

    /** @param direction 1 to remove the aliases, -1 to insert them */
    private static void butterflies(double[] lines, int bands, int direction) {
        for (int border = LINES; border < LINES * bands; border += LINES) {
            for (int i = 0; i < ALIAS.length; i++) {
                double below = lines[border - 1 - i];
                double above = lines[border + i];
                lines[border - 1 - i] = below * KEPT[i] - direction * above * SWAPPED[i];
                lines[border + i] = above * KEPT[i] + direction * below * SWAPPED[i];
            }
        }
    }
}
