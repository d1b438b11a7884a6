package org.regatta.bench;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Time intervals, with touching or overlapping ones merged; ns of any clock. */
final class Intervals {
    /** Ascending and disjoint; each a start and an end. */
    private final List<long[]> apart = new ArrayList<>();

    /** @param intervals each a start and an end that is not before it; in any order */
    Intervals(List<long[]> intervals) {
        List<long[]> ascending = new ArrayList<>(intervals);
        ascending.sort(Comparator.comparingLong(interval -> interval[0]));
        for (long[] next : ascending) {
            long[] last = apart.isEmpty() ? null : apart.get(apart.size() - 1);
            if (last != null && next[0] <= last[1]) {
                last[1] = Math.max(last[1], next[1]);
            } else {
                apart.add(next.clone());
            }
        }
    }

    /** @return total time of these intervals outside {@code others}, ns */
    long outside(Intervals others) {
        long ns = 0;
        int from = 0;
        for (long[] own : apart) {
            ns += own[1] - own[0];
            while (from < others.apart.size() && others.apart.get(from)[1] <= own[0]) {
                from++;
            }
            for (int i = from; i < others.apart.size() && others.apart.get(i)[0] < own[1]; i++) {
                long[] other = others.apart.get(i);
                ns -= Math.min(own[1], other[1]) - Math.max(own[0], other[0]);
            }
        }
        return ns;
    }
}
