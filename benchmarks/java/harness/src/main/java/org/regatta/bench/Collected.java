package org.regatta.bench;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;

/** The collections in a window of a {@link CollectionWatch}. */
public final class Collected {
    private final long[] pausesNs;
    private final Map<String, Long> kindsNs = new LinkedHashMap<>();
    private final Map<String, Integer> kinds;
    private final long concurrentNs;
    private final long cpuNs;
    private final long heapBeforeBytes;
    private final long heapAfterBytes;

    /**
     * @param pausesNs from the safepoint log
     * @param lines of the GC log; changed later
     * @param cpuNs of the threads of the collector; negative if unknown
     */
    Collected(long[] pausesNs, GcLines lines, long cpuNs) {
        this.pausesNs = pausesNs;
        this.cpuNs = cpuNs;
        kinds = new LinkedHashMap<>(lines.pauseCounts());
        kinds.keySet().forEach(kind -> kindsNs.put(kind, lines.pausesNs().get(kind)));
        concurrentNs = lines.concurrentNs();
        heapBeforeBytes = lines.hasCollected() ? lines.firstHeapBytes() : -1;
        heapAfterBytes = lines.hasCollected() ? lines.lastHeapBytes() : -1;
    }

    /** @return sum of the pauses, exact, with their preparation and end in the safepoint */
    public long pauseNs() {
        return SafepointLog.sum(pausesNs);
    }

    /** @return number of safepoints of the collector; one may contain several pauses */
    public int safepoints() {
        return pausesNs.length;
    }

    /** @return time by kind of pause, as the GC log names it and to 1 us: {@code Pause Full} */
    public Map<String, Long> pausesNs() {
        return kindsNs;
    }

    /** @return number of pauses by kind */
    public Map<String, Integer> pauses() {
        return kinds;
    }

    /** @return time of the concurrent phases of the collector's cycles, without their pauses */
    public long concurrentNs() {
        return concurrentNs;
    }

    /**
     * @return processor time of the collector's threads and of the VM thread, ns; empty if this system does not report
     *     it, or if one of the threads ended
     */
    public OptionalLong cpuNs() {
        return known(cpuNs);
    }

    /** @return heap occupancy before the first collection, bytes, as rounded in the log; empty without one */
    public OptionalLong heapBeforeBytes() {
        return known(heapBeforeBytes);
    }

    /** @return heap occupancy after the last collection, bytes, as rounded in the log; empty without one */
    public OptionalLong heapAfterBytes() {
        return known(heapAfterBytes);
    }

    private static OptionalLong known(long value) {
        return value < 0 ? OptionalLong.empty() : OptionalLong.of(value);
    }
}
