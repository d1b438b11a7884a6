package org.regatta.bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;

/**
 * Bytes allocated by all threads.
 *
 * <p>From release 21, and in late updates of 17, the JVM maintains the sum over all threads, including ended ones.
 * Before that, the meter sums over the threads alive at the end. If a thread ends within the iteration, this sum is too
 * small and is reported as unknown: benchmarks keep their threads alive.
 */
abstract class AllocationMeter {
    private static final long UNKNOWN = -1;

    abstract void start();

    /** @return bytes since {@code start}, or -1 if this JVM cannot report them or an uncounted thread ended */
    abstract long stop();

    /** @return the counting method, for the record */
    abstract String source();

    static AllocationMeter ofThisJvm() {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        if (!(bean instanceof com.sun.management.ThreadMXBean)) {
            return new None();
        }
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) bean;
        if (!threads.isThreadAllocatedMemorySupported()) {
            return new None();
        }
        threads.setThreadAllocatedMemoryEnabled(true);
        try {
            // By reflection, because the class files target release 11.
            Method total = com.sun.management.ThreadMXBean.class.getMethod("getTotalThreadAllocatedBytes");
            if ((Long) total.invoke(threads) >= 0) {
                return new Total(threads, total);
            }
        } catch (ReflectiveOperationException e) {
            // an older JVM: sum over threads
        }
        return new ByThread(threads);
    }

    private static final class None extends AllocationMeter {
        @Override
        void start() {}

        @Override
        long stop() {
            return UNKNOWN;
        }

        @Override
        String source() {
            return "none";
        }
    }

    private static final class Total extends AllocationMeter {
        private final com.sun.management.ThreadMXBean threads;
        private final Method total;
        private long startBytes;

        Total(com.sun.management.ThreadMXBean threads, Method total) {
            this.threads = threads;
            this.total = total;
        }

        @Override
        void start() {
            startBytes = read();
        }

        @Override
        long stop() {
            return read() - startBytes;
        }

        @Override
        String source() {
            return "all threads";
        }

        private long read() {
            try {
                return (Long) total.invoke(threads);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("the allocation counter of the JVM failed after an earlier success", e);
            }
        }
    }

    private static final class ByThread extends AllocationMeter {
        private final com.sun.management.ThreadMXBean threads;
        private final Map<Long, Long> startBytes = new HashMap<>();
        private long started;

        ByThread(com.sun.management.ThreadMXBean threads) {
            this.threads = threads;
        }

        @Override
        void start() {
            startBytes.clear();
            started = threads.getTotalStartedThreadCount();
            long[] ids = threads.getAllThreadIds();
            long[] bytes = threads.getThreadAllocatedBytes(ids);
            for (int i = 0; i < ids.length; i++) {
                startBytes.put(ids[i], Math.max(0, bytes[i]));
            }
        }

        @Override
        long stop() {
            long[] ids = threads.getAllThreadIds();
            long[] bytes = threads.getThreadAllocatedBytes(ids);
            long startedSince = threads.getTotalStartedThreadCount() - started;
            if (ids.length < startBytes.size() + startedSince) {
                return UNKNOWN;
            }
            long sum = 0;
            for (int i = 0; i < ids.length; i++) {
                sum += Math.max(0, bytes[i] - startBytes.getOrDefault(ids[i], 0L));
            }
            return sum;
        }

        @Override
        String source() {
            return "threads alive at the end";
        }
    }
}
