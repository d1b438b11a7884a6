package org.regatta.bench;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Processor time of the threads that collect, from {@code /proc/self/task/TID/schedstat}, in ns. The thread CPU
 * time of Java covers Java threads only, and that of the process is in ticks of 10 ms before release 23 or so.
 *
 * <p>The VM thread is one of them: it collects with Serial, and prepares the pauses of the other collectors. It also
 * performs other operations of the JVM.
 */
final class CollectorThreads {
    /** Names of the threads in releases 11 to 25, of which Linux keeps 15 characters. */
    private static final Pattern NAMES = Pattern.compile("VM Thread|(?:Par)?GC Thread.*|G1 .*|CMS .*|Concurrent Mark.*"
            + "|[XZ](?:Worker|Driver|Director|Stat|Unmapper|Uncommitter).*|RuntimeWorker.*|Shenandoah.*");

    private static final Path TASKS = Path.of("/proc/self/task");
    static final long UNKNOWN = -1;

    private Map<String, Long> before = Map.of();

    void start() throws IOException {
        before = read();
    }

    /**
     * @return time since {@code start}, ns; negative if unknown: no such file, or a thread has ended with its time
     */
    long sinceStartNs() throws IOException {
        Map<String, Long> after = read();
        if (after.isEmpty() || !after.keySet().containsAll(before.keySet())) {
            return UNKNOWN;
        }
        return after.entrySet().stream()
                .mapToLong(thread -> thread.getValue() - before.getOrDefault(thread.getKey(), 0L))
                .sum();
    }

    /** @return ns by thread id; empty if this system has no such files */
    private static Map<String, Long> read() throws IOException {
        Map<String, Long> found = new HashMap<>();
        if (!Files.isDirectory(TASKS)) {
            return found;
        }
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(TASKS)) {
            for (Path task : tasks) {
                try {
                    if (NAMES.matcher(Files.readString(task.resolve("comm")).trim()).matches()) {
                        String runNs = Files.readString(task.resolve("schedstat")).split(" ", 2)[0];
                        found.put(task.getFileName().toString(), Long.parseLong(runNs));
                    }
                } catch (IOException e) {
                    // The thread has ended; if it was there at the start, its time is missing.
                }
            }
        }
        return found;
    }
}
