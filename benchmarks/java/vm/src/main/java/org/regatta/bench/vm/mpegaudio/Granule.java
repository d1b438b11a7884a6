package org.regatta.bench.vm.mpegaudio;

/** Side information on 576 lines of one channel, before their code words. */
final class Granule {
    /** First line of each scale factor band, and the end. Source: ISO/IEC 11172-3:1993, table 3-B.8, 44.1 kHz. */
    static final int[] BAND_STARTS = {
        0, 4, 8, 12, 16, 20, 24, 30, 36, 44, 52, 62, 74, 90, 110, 134, 162, 196, 238, 288, 342, 418, 576
    };

    /** The last band has no scale factor. */
    static final int SCALE_FACTORS = BAND_STARTS.length - 2;

    /** The value of {@code gain} with quantisation step 1. Each decrement divides the step by the fourth root of 2. */
    static final int UNIT_GAIN = 210;

    static final int REGIONS = 3;
    static final int SIDE_BITS = 13 + 9 + 8 + 3 + REGIONS * 4 + 2 * 4 + 1;

    /** Length of scale factors and code words, in bits. */
    int mainBits;

    int bigPairs;
    int gain;
    int scaleFactorBits;
    final int[] pairTables = new int[REGIONS];
    /** Number of bands in the first and second region; the third has the rest of the pairs. */
    final int[] regionBands = new int[REGIONS - 1];

    int quadTable;

    void write(Bits.Writer out) {
        out.write(mainBits, 13);
        out.write(bigPairs, 9);
        out.write(gain, 8);
        out.write(scaleFactorBits, 3);
        for (int table : pairTables) {
            out.write(table, 4);
        }
        for (int bands : regionBands) {
            out.write(bands, 4);
        }
        out.write(quadTable, 1);
    }

    void read(Bits.Reader in) {
        mainBits = in.read(13);
        bigPairs = in.read(9);
        gain = in.read(8);
        scaleFactorBits = in.read(3);
        for (int i = 0; i < REGIONS; i++) {
            pairTables[i] = in.read(4);
        }
        for (int i = 0; i < REGIONS - 1; i++) {
            regionBands[i] = in.read(4);
        }
        quadTable = in.read(1);
    }

    /** @return the line where a region ends, at most the end of the pairs */
    int regionEnd(int region) {
        int bands = 0;
        for (int i = 0; i <= region && i < REGIONS - 1; i++) {
            bands += regionBands[i];
        }
        return region == REGIONS - 1 ? 2 * bigPairs : Math.min(2 * bigPairs, BAND_STARTS[bands]);
    }
}
