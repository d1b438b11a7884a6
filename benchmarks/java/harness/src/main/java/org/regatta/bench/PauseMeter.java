package org.regatta.bench;

import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * How often and how long the collector stopped the world: {@code gc_time}, the sum of its pauses, {@code gc_count},
 * their number, and {@code gc_pause}, their percentiles. What concurrent threads of the collector do is in none of
 * these.
 */
abstract class PauseMeter {
    abstract void start() throws IOException;

    /** Adds what happened since {@code start} to {@code measurements}. */
    abstract void stop(List<Measurement> measurements) throws IOException;

    /** @return how they are measured, for the record */
    abstract String source();

    /** @param safepointLog null where the JVM writes none */
    static PauseMeter of(SafepointLog safepointLog) {
        return safepointLog == null ? new ByBeans() : new ByLog(safepointLog);
    }

    private static final class ByLog extends PauseMeter {
        private static final int[] PERCENT = {50, 90, 99, 100};
        /** From so many pauses on; with fewer the percentile would be the longest one under another name. */
        private static final int[] LEAST_PAUSES = {1, 10, 100, 1};

        private final SafepointLog log;

        ByLog(SafepointLog log) {
            this.log = log;
        }

        @Override
        void start() throws IOException {
            log.start();
        }

        @Override
        void stop(List<Measurement> measurements) throws IOException {
            long[] pausesNs = log.stop();
            measurements.add(new Measurement("gc_time", SafepointLog.sum(pausesNs), "ns"));
            measurements.add(new Measurement("gc_count", pausesNs.length, "count"));
            for (int i = 0; i < PERCENT.length; i++) {
                if (pausesNs.length >= LEAST_PAUSES[i]) {
                    long pauseNs = SafepointLog.percentile(pausesNs, PERCENT[i]);
                    Map<String, Object> parameters = Map.of("percentile", PERCENT[i]);
                    measurements.add(new Measurement("gc_pause", pauseNs, "ns", parameters));
                }
            }
        }

        @Override
        String source() {
            return "safepoint log";
        }
    }

    /**
     * The beans' sums, read at the borders of an iteration: off by up to a millisecond for each bean, in the mean not
     * off at all. Single pauses are not known. G1 counts the pauses of its concurrent cycles from release 20 on.
     */
    private static final class ByBeans extends PauseMeter {
        private static final long NS_PER_MS = 1_000_000;

        private final List<GarbageCollectorMXBean> pausing = new ArrayList<>();
        private long startMs;
        private long startCount;

        ByBeans() {
            for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
                // Z and Shenandoah have beans of two kinds: "... Cycles", which run beside the program, and "... Pauses".
                if (!bean.getName().endsWith("Cycles")) {
                    pausing.add(bean);
                }
            }
        }

        @Override
        void start() {
            startMs = pausing.stream().mapToLong(bean -> Math.max(0, bean.getCollectionTime())).sum();
            startCount = count();
        }

        @Override
        void stop(List<Measurement> measurements) {
            if (pausing.isEmpty()) {
                return;
            }
            long ms = pausing.stream().mapToLong(bean -> Math.max(0, bean.getCollectionTime())).sum() - startMs;
            measurements.add(new Measurement("gc_time", ms * NS_PER_MS, "ns"));
            measurements.add(new Measurement("gc_count", count() - startCount, "count"));
        }

        @Override
        String source() {
            return "collector beans, ms";
        }

        private long count() {
            return pausing.stream().mapToLong(bean -> Math.max(0, bean.getCollectionCount())).sum();
        }
    }
}
