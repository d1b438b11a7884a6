package org.regatta.bench.vm.mpegaudio;

/** Quantises the lines of a granule as finely as the bit budget allows, and writes them. */
final class Quantiser {
    /** Rounds down more often than up, as encoders do. */
    private static final double ROUNDING = 0.4054;

    private static final int MOST_SCALE_FACTOR = 7;
    private static final int LARGEST_GAIN = 255;

    private final int[] scaleFactors = new int[Granule.SCALE_FACTORS + 1];
    private final int[] values = new int[Mdct.GRANULE];

    /**
     * @param lines 576
     * @param budgetBits maximum number of bits
     * @param granule receives the result
     */
    void quantise(double[] lines, int budgetBits, Granule granule, Bits.Writer out) {
        chooseScaleFactors(lines, granule);
        int low = 0;
        int high = LARGEST_GAIN;
        while (low < high) {
            int middle = (low + high) / 2;
            if (fits(lines, middle, budgetBits, granule)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        // The number of bits is not monotonic in the step, so the least gain found may not fit.
        while (!fits(lines, high, budgetBits, granule)) {
            high++;
        }
        write(granule, out);
    }

    /** Use finer steps for bands that are much quieter than the loudest one. */
    private void chooseScaleFactors(double[] lines, Granule granule) {
        double[] energies = new double[Granule.SCALE_FACTORS];
        double loudest = 0;
        for (int band = 0; band < energies.length; band++) {
            int from = Granule.BAND_STARTS[band];
            int to = Granule.BAND_STARTS[band + 1];
            for (int i = from; i < to; i++) {
                energies[band] += lines[i] * lines[i] / (to - from);
            }
            loudest = Math.max(loudest, energies[band]);
        }
        int most = 0;
        for (int band = 0; band < energies.length; band++) {
            int halvings = energies[band] > 0 ? Math.getExponent(loudest / energies[band]) : 0;
            scaleFactors[band] = Math.min(MOST_SCALE_FACTOR, halvings / 4);
            most = Math.max(most, scaleFactors[band]);
        }
        granule.scaleFactorBits = Integer.SIZE - Integer.numberOfLeadingZeros(most);
    }

    private boolean fits(double[] lines, int gain, int budgetBits, Granule granule) {
        granule.gain = gain;
        for (int band = 0; band < scaleFactors.length; band++) {
            double factor = Power.ofTwo(Granule.UNIT_GAIN - gain + 2 * scaleFactors[band]);
            for (int i = Granule.BAND_STARTS[band]; i < Granule.BAND_STARTS[band + 1]; i++) {
                double size = Power.threeQuarters(Math.abs(lines[i]) * factor) + ROUNDING;
                if (size > Power.LARGEST) {
                    return false;
                }
                values[i] = lines[i] < 0 ? -(int) size : (int) size;
            }
        }
        granule.mainBits = Granule.SCALE_FACTORS * granule.scaleFactorBits + divide(granule);
        return granule.mainBits <= budgetBits;
    }

    /** Choose regions and tables; return the number of bits of their code words. */
    private int divide(Granule granule) {
        int end = usedEnd();
        int pairsEnd = end;
        while (pairsEnd >= 4 && largest(pairsEnd - 4, pairsEnd) <= 1) {
            pairsEnd -= 4;
        }
        granule.bigPairs = pairsEnd / 2;
        int bands = 0;
        while (Granule.BAND_STARTS[bands] < pairsEnd) {
            bands++;
        }
        granule.regionBands[0] = bands / 3;
        granule.regionBands[1] = bands / 3;
        int bits = 0;
        int from = 0;
        for (int region = 0; region < Granule.REGIONS; region++) {
            int to = granule.regionEnd(region);
            bits += chooseTable(granule, region, from, to);
            from = to;
        }
        int[] quadBits = new int[HuffmanTable.QUADS.length];
        for (int table = 0; table < quadBits.length; table++) {
            for (int i = pairsEnd; i < end; i += 4) {
                quadBits[table] += HuffmanTable.QUADS[table].bits(values, i);
            }
        }
        granule.quadTable = quadBits[0] <= quadBits[1] ? 0 : 1;
        return bits + quadBits[granule.quadTable];
    }

    private int chooseTable(Granule granule, int region, int from, int to) {
        int largest = largest(from, to);
        int least = Integer.MAX_VALUE;
        for (int table = 0; table < HuffmanTable.PAIRS.length; table++) {
            if (!HuffmanTable.PAIRS[table].reaches(largest)) {
                continue;
            }
            int bits = 0;
            for (int i = from; i < to; i += 2) {
                bits += HuffmanTable.PAIRS[table].bits(values, i);
            }
            if (bits < least) {
                least = bits;
                granule.pairTables[region] = table;
            }
        }
        return least;
    }

    private void write(Granule granule, Bits.Writer out) {
        for (int band = 0; band < Granule.SCALE_FACTORS; band++) {
            out.write(scaleFactors[band], granule.scaleFactorBits);
        }
        int at = 0;
        for (int region = 0; region < Granule.REGIONS; region++) {
            for (; at < granule.regionEnd(region); at += 2) {
                HuffmanTable.PAIRS[granule.pairTables[region]].write(values, at, out);
            }
        }
        for (; at < usedEnd(); at += 4) {
            HuffmanTable.QUADS[granule.quadTable].write(values, at, out);
        }
    }

    private int usedEnd() {
        int end = values.length;
        while (end > 0 && values[end - 1] == 0 && values[end - 2] == 0) {
            end -= 2;
        }
        return end;
    }

    private int largest(int from, int to) {
        int largest = 0;
        for (int i = from; i < to; i++) {
            largest = Math.max(largest, Math.abs(values[i]));
        }
        return largest;
    }
}
