package org.regatta.bench;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * Pauses of the collector: {@code gc_time}, their sum, {@code gc_count}, their number, and {@code gc_pause}, their
 * percentiles. Excludes the work of concurrent collector threads.
 */
abstract class PauseMeter {
    abstract void start() throws IOException;

    abstract void stop() throws IOException;

    /** Add the pauses between start and stop to {@code measurements}. */
    abstract void report(List<Measurement> measurements) throws IOException;

    /** @return the measurement method, for the record */
    abstract String source();

    /**
     * @param safepointLog null without such a log
     * @param beans read at the same borders
     */
    static PauseMeter of(SafepointLog safepointLog, CollectorBeans beans) {
        return safepointLog == null ? new ByBeans(beans) : new ByLog(safepointLog);
    }

    private static final int[] PERCENT = {50, 90, 99, 100};
    /** Minimum number of values; with fewer, the percentile would be the maximum. */
    private static final int[] LEAST_VALUES = {1, 10, 100, 1};

    /**
     * Add percentiles as {@code metric}.
     *
     * @param ascendingNs may be empty
     */
    static void addPercentiles(List<Measurement> measurements, String metric, long[] ascendingNs) {
        for (int i = 0; i < PERCENT.length; i++) {
            if (ascendingNs.length >= LEAST_VALUES[i]) {
                long ns = SafepointLog.percentile(ascendingNs, PERCENT[i]);
                measurements.add(new Measurement(metric, ns, "ns", Map.of("percentile", PERCENT[i])));
            }
        }
    }

    private static final class ByLog extends PauseMeter {
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
            addPercentiles(measurements, "gc_pause", pausesNs);
        }

        @Override
        String source() {
            return "safepoint log";
        }
    }

    /**
     * Sums of the beans: up to 1 ms too low or high per bean, but unbiased. Individual pauses are unknown. G1 counts
     * the pauses of its concurrent cycles from release 20 on.
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
