package org.regatta.bench.chat;

import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * System statistics of this process: processor time, page faults, context switches.
 *
 * <p>The kernel sums time and faults over all threads, including ended ones. It reports context switches per thread only: those
 * of threads that ended inside a window are unknown, and the number of such threads is reported.
 *
 * <p>Source: proc(5).
 */
final class Figures {
    /** Null if the JVM only interprets. */
    private static final CompilationMXBean COMPILER = compiler();

    private static final Path SELF = Path.of("/proc/self");

    /** Unit of /proc/PID/stat: USER_HZ is 100 on all architectures with a JVM. */
    private static final long TICK_NS = 10_000_000L;

    /** Fields of /proc/PID/stat, counted from the field after the program name, which is field 3 of proc(5). */
    private static final int MINOR_FAULTS = 10 - 3;
    private static final int MAJOR_FAULTS = 12 - 3;
    private static final int USER_TICKS = 14 - 3;
    private static final int SYSTEM_TICKS = 15 - 3;

    final long atNs;
    final long userNs;
    final long systemNs;
    final long minorFaults;
    final long majorFaults;

    /** Compile time of the JIT threads, in ns, in steps of 1 ms; -1 if unknown. */
    final long compileNs;

    private Figures(long atNs, String[] fields) {
        this.atNs = atNs;
        userNs = Long.parseLong(fields[USER_TICKS]) * TICK_NS;
        systemNs = Long.parseLong(fields[SYSTEM_TICKS]) * TICK_NS;
        minorFaults = Long.parseLong(fields[MINOR_FAULTS]);
        majorFaults = Long.parseLong(fields[MAJOR_FAULTS]);
        compileNs = COMPILER == null ? -1 : COMPILER.getTotalCompilationTime() * 1_000_000L;
    }

    private static CompilationMXBean compiler() {
        CompilationMXBean bean = ManagementFactory.getCompilationMXBean();
        return bean != null && bean.isCompilationTimeMonitoringSupported() ? bean : null;
    }

    long cpuNs() {
        return userNs + systemNs;
    }

    /**
     * Read time and faults.
     *
     * @throws IOException if the system has no /proc
     */
    static Figures read() throws IOException {
        String stat = Files.readString(SELF.resolve("stat"), StandardCharsets.ISO_8859_1);
        // The name may contain any character, including brackets.
        return new Figures(System.nanoTime(), stat.substring(stat.lastIndexOf(')') + 2).split(" "));
    }

    /** Context switches of each live thread. */
    static final class Switches {
        private static final String VOLUNTARY = "\nvoluntary_ctxt_switches:";
        private static final String INVOLUNTARY = "\nnonvoluntary_ctxt_switches:";

        /** The middle of the reading time: with a thousand threads on a busy machine that is tens of ms. */
        final long atNs;

        /** Number of messages received by the server at that time. */
        final long received;

        /** Thread to its voluntary and involuntary switches. */
        private final Map<String, long[]> threads = new HashMap<>();

        private Switches(Tally tally) throws IOException {
            long beganNs = System.nanoTime();
            long receivedBefore = tally.received.sum();
            try (DirectoryStream<Path> tasks = Files.newDirectoryStream(SELF.resolve("task"))) {
                for (Path task : tasks) {
                    try {
                        String status = Files.readString(task.resolve("status"), StandardCharsets.ISO_8859_1);
                        threads.put(
                                task.getFileName().toString(),
                                new long[] {number(status, VOLUNTARY), number(status, INVOLUNTARY)});
                    } catch (IOException e) {
                        // The thread has ended since the directory was read.
                    }
                }
            }
            atNs = beganNs + (System.nanoTime() - beganNs) / 2;
            received = receivedBefore + (tally.received.sum() - receivedBefore) / 2;
        }

        static Switches read(Tally tally) throws IOException {
            return new Switches(tally);
        }

        int count() {
            return threads.size();
        }

        /** Number of threads of {@code earlier} that have ended. */
        int endedSince(Switches earlier) {
            return (int) earlier.threads.keySet().stream().filter(name -> !threads.containsKey(name)).count();
        }

        long voluntarySince(Switches earlier) {
            return since(earlier, 0);
        }

        long involuntarySince(Switches earlier) {
            return since(earlier, 1);
        }

        private long since(Switches earlier, int kind) {
            long sum = 0;
            for (Map.Entry<String, long[]> thread : threads.entrySet()) {
                long[] before = earlier.threads.get(thread.getKey());
                sum += thread.getValue()[kind] - (before == null ? 0 : before[kind]);
            }
            return sum;
        }

        private static long number(String status, String name) throws IOException {
            int at = status.indexOf(name);
            if (at < 0) {
                throw new IOException("no " + name.trim());
            }
            int end = status.indexOf('\n', at + 1);
            return Long.parseLong(status.substring(at + name.length(), end < 0 ? status.length() : end).trim());
        }
    }
}
