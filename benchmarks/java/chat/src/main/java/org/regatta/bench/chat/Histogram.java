package org.regatta.bench.chat;

/**
 * Counts of times in ns. Up to 255 ns, each value has a bucket; above, a bucket is at most 1/128 of its values wide. A percentile
 * is therefore at most 0.8 % above the true one and never below it. The maximum is exact.
 */
final class Histogram {
    private static final int BITS = 8;
    private static final int HALF = 1 << BITS - 1;

    private final long[] counts = new long[(Long.SIZE - BITS + 1) * HALF];
    private long count;
    private long longest;

    /** @param ns negative values count as 0 */
    void add(long ns) {
        long value = Math.max(0, ns);
        counts[bucket(value)]++;
        count++;
        longest = Math.max(longest, value);
    }

    long count() {
        return count;
    }

    /**
     * Return the percentile by nearest rank, in ns: the highest value of its bucket.
     *
     * @param percent above 0, at most 100
     * @throws IllegalStateException if there are no values
     */
    long percentile(double percent) {
        if (count == 0) {
            throw new IllegalStateException("percentile of an empty histogram");
        }
        long rank = Math.max(1, (long) Math.ceil(percent / 100 * count));
        long seen = 0;
        for (int i = 0; i < counts.length; i++) {
            seen += counts[i];
            if (seen >= rank) {
                return Math.min(highest(i), longest);
            }
        }
        return longest;
    }

    private static int bucket(long value) {
        int shift = Math.max(0, Long.SIZE - Long.numberOfLeadingZeros(value) - BITS);
        return shift * HALF + (int) (value >>> shift);
    }

    private static long highest(int bucket) {
        int shift = Math.max(0, bucket / HALF - 1);
        long first = bucket - (long) shift * HALF;
        return (first + 1 << shift) - 1;
    }
}
