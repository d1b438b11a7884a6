package org.regatta.bench;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * How often and how long the collector stopped the world: {@code gc_time}, the sum of its pauses, {@code gc_count},
 * their number, and {@code gc_pause}, their percentiles. What concurrent threads of the collector do is in none of
 * these.
 */
abstract class PauseMeter {
    abstract void start() throws IOException;

    abstract void stop() throws IOException;

    /** Adds what happened between start and stop to {@code measurements}. */
    abstract void report(List<Measurement> measurements) throws IOException;

    /** @return how they are measured, for the record */
    abstract String source();

    /**
     * @param safepointLog null where the JVM writes none
     * @param beans read at the same borders
     */
    static PauseMeter of(SafepointLog safepointLog, CollectorBeans beans) {
        return safepointLog == null ? new ByBeans(beans) : new ByLog(safepointLog);
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
        void stop() throws IOException {
            log.stop();
        }

        @Override
        void report(List<Measurement> measurements) throws IOException {
            long[] pausesNs = log.pausesNs();
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
     * The beans' sums: off by up to a millisecond for each bean, in the mean not off at all. Single pauses are not
     * known. G1 counts the pauses of its concurrent cycles from release 20 on.
     */
    private static final class ByBeans extends PauseMeter {
        private final CollectorBeans beans;

        ByBeans(CollectorBeans beans) {
            this.beans = beans;
        }

        @Override
        void start() {}

        @Override
        void stop() {}

        @Override
        void report(List<Measurement> measurements) {
            beans.reportPauses(measurements);
        }

        @Override
        String source() {
            return "collector beans, ms";
        }
    }
}
