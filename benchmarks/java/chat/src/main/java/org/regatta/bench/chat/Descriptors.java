package org.regatta.bench.chat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Checks whether this process may open a descriptor for each connection. */
final class Descriptors {
    /** Descriptors of the JVM and the program: jars, listening sockets, selector, standard streams. */
    private static final int OWN = 64;

    private static final String LIMIT = "Max open files";

    private Descriptors() {}

    /**
     * @param connections expected number, 0 or more
     * @throws UsageException if the limit of this process is lower
     */
    static void check(int connections) throws UsageException {
        long limit = limit();
        if (limit >= 0 && limit < (long) connections + OWN) {
            throw new UsageException(connections + " connections: expected a limit of " + (connections + OWN)
                    + " open files or more, got " + limit + "; raise it (ulimit -n) for both server and client");
        }
    }

    /** The effective limit, which a JVM raises to the hard limit at startup; -1 if unknown. */
    private static long limit() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/limits"), StandardCharsets.ISO_8859_1)) {
                if (line.startsWith(LIMIT)) {
                    String soft = line.substring(LIMIT.length()).trim().split(" +")[0];
                    return soft.equals("unlimited") ? -1 : Long.parseLong(soft);
                }
            }
        } catch (IOException | NumberFormatException e) {
            // Not Linux: the first failing connection reports the limit.
        }
        return -1;
    }
}
