package org.regatta.bench.vm.mpegaudio;

/** Powers for quantisation, computed from square roots and tables only. */
final class Power {
    /** Largest quantised value. */
    static final int LARGEST = HuffmanTable.ESCAPE + (1 << 13) - 1;

    private static final double[] FOUR_THIRDS = new double[LARGEST + 1];
    private static final int LEAST_QUARTER = -400;
    private static final double[] QUARTERS = new double[800];

    static {
        for (int i = 0; i <= LARGEST; i++) {
            FOUR_THIRDS[i] = i * StrictMath.cbrt(i);
        }
        double root = Math.sqrt(Math.sqrt(2));
        double[] fractions = {1, root, Math.sqrt(2), Math.sqrt(2) * root};
        for (int i = 0; i < QUARTERS.length; i++) {
            int quarters = i + LEAST_QUARTER;
            QUARTERS[i] = Math.scalb(fractions[Math.floorMod(quarters, 4)], Math.floorDiv(quarters, 4));
        }
    }

    private Power() {}

    /** @param value from -LARGEST to LARGEST */
    static double fourThirds(int value) {
        return value < 0 ? -FOUR_THIRDS[-value] : FOUR_THIRDS[value];
    }

    /** @param x from 0 on */
    static double threeQuarters(double x) {
        double root = Math.sqrt(x);
        return root * Math.sqrt(root);
    }

    /** @return 2 to the power {@code quarters / 4} */
    static double ofTwo(int quarters) {
        return QUARTERS[quarters - LEAST_QUARTER];
    }
}
