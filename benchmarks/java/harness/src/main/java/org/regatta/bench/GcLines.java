package org.regatta.bench;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The lines of a GC log, in the formats of releases 11 to 25, read in order from the start: a phase may contain a pause
 * that was logged in an earlier iteration.
 */
final class GcLines {
    /** End of a pause or phase: time, cycle, generation (of Z), pause or phase, name and heap, ms. */
    private static final Pattern ENDED = Pattern.compile(
            "^\\[(\\d+)ns\\](?:\\[[^\\]]*\\])* GC\\((\\d+)\\) (?:(\\w): )?(Pause|Concurrent) (.*?) ?(\\d+[.,]\\d+)ms$");

    /**
     * Heap occupancy after a collection. Excludes pauses that collect nothing (Remark, Cleanup and similar); the cycles
     * of Shenandoah end with a cleanup, those of Z with a separate line.
     */
    private static final Pattern COLLECTED = Pattern.compile(
            "^\\[\\d+ns\\](?:\\[[^\\]]*\\])* GC\\((\\d+)\\) (?:Pause (?:Young|Full|Degenerated)|Concurrent cleanup|Garbage"
                    + " Collection|Minor Collection|Major Collection)\\b.*? (\\d+)([BKMG])(?:\\(\\d+%\\))?->(\\d+)([BKMG])\\b");

    /** {@code Young (Normal) (G1 Evacuation Pause)}: of two parentheses, the first is the kind. */
    private static final Pattern KIND_OF_YOUNG = Pattern.compile("^(Young \\([^)]*\\)) \\(.*");

    /**
     * A thread waited for memory, or for an object in relocation, while Z collected. The last parenthesis ends the name
     * of the thread. Threads of the compilers do not count: the program goes on.
     */
    private static final Pattern STALLED = Pattern.compile("^\\[\\d+ns\\](?:\\[[^\\]]*\\])* (?:GC\\(\\d+\\) )?(?:\\w: )?"
            + "(?:Allocation|Relocation) Stall \\((?!(?:C[12]|JVMCI) CompilerThread\\d+\\) ).*\\) (\\d+[.,]\\d+)ms$");

    private static final String UNITS = "BKMG";
    private static final double NS_PER_MS = 1e6;
    private static final long UNKNOWN = -1;

    /** The end of a cycle with phases; G1 logs no reliable end for an aborted cycle. */
    private static final Pattern CYCLE_ENDED =
            Pattern.compile("^\\[\\d+ns\\].* GC\\(\\d+\\) (?:Concurrent (?:Mark )?Cycle \\d|"
                    + "(?:Garbage|Minor|Major) Collection .*->).*");

    /** Pauses before this iteration to keep: some 300 kB in the measured heap. */
    private static final int MOST_KEPT_PAUSES = 5_000;

    private final Map<String, Long> pausesNs = new TreeMap<>();
    private final Map<String, Integer> pauseCounts = new TreeMap<>();
    private final Deque<long[]> outermostPauses = new ArrayDeque<>();
    /** Phases per cycle and generation. */
    private final Map<String, List<long[]>> phases = new HashMap<>();
    /** Heap occupancy in the last line of each cycle, bytes. */
    private final Map<String, Long> heaps = new HashMap<>();

    /** Duration of each stall in this iteration. */
    private final List<Long> stallsNs = new ArrayList<>();

    private long lastHeapBytes;
    /** Before the first collection that ended in this iteration; negative without one. */
    private long firstHeapBytes = UNKNOWN;

    private boolean hasPhases;
    private boolean hasCycles;

    /** @param kinds of pauses that count as 0 if they do not occur: {@code Full} */
    GcLines(List<String> kinds) {
        kinds.forEach(kind -> pausesNs.put("Pause " + kind, 0L));
    }

    /** Mark all lines read so far as earlier; keep their pauses and the set of kinds. */
    void startIteration() {
        pausesNs.replaceAll((kind, ns) -> 0L);
        pauseCounts.clear();
        phases.clear();
        heaps.clear();
        stallsNs.clear();
        firstHeapBytes = UNKNOWN;
        while (outermostPauses.size() > MOST_KEPT_PAUSES) {
            outermostPauses.removeFirst();
        }
    }

    /** Whether cycles ended without any logged phase. */
    boolean lacksPhases() {
        return hasCycles && !hasPhases;
    }

    void take(String line) {
        Matcher ended = ENDED.matcher(line);
        if (ended.matches()) {
            long[] interval = interval(ended);
            if (ended.group(4).equals("Pause")) {
                long withinNs = addPause(interval);
                long ownNs = Math.max(0, interval[1] - interval[0] - withinNs);
                String kind = "Pause " + kind(ended.group(5));
                pausesNs.merge(kind, ownNs, Long::sum);
                pauseCounts.merge(kind, 1, Integer::sum);
            } else if (!isWholeCycle(ended.group(5))) {
                String cycle = ended.group(2) + ended.group(3);
                phases.computeIfAbsent(cycle, none -> new ArrayList<>()).add(interval);
                hasPhases = true;
            }
        }
        Matcher stalled = STALLED.matcher(line);
        if (stalled.matches()) {
            stallsNs.add(ns(stalled.group(1)));
        }
        hasCycles |= CYCLE_ENDED.matcher(line).matches();
        Matcher collected = COLLECTED.matcher(line);
        if (collected.find()) {
            lastHeapBytes = bytes(collected.group(4), collected.group(5));
            if (firstHeapBytes == UNKNOWN) {
                firstHeapBytes = bytes(collected.group(2), collected.group(3));
            }
            heaps.put(collected.group(1), lastHeapBytes);
        }
    }

    /**
     * @return ns by kind, for the known kinds and those that occurred in this JVM; a nested pause counts under its own
     *     kind only
     */
    Map<String, Long> pausesNs() {
        return pausesNs;
    }

    /** @return number by kind, for the kinds that occurred in this iteration */
    Map<String, Integer> pauseCounts() {
        return pauseCounts;
    }

    /** @return duration of each stall of a thread that ended in this iteration, in ns, ascending */
    long[] stallsNs() {
        return stallsNs.stream().mapToLong(Long::longValue).sorted().toArray();
    }

    /** @return ns, summed over the cycles */
    long concurrentNs() {
        Intervals pauses = new Intervals(new ArrayList<>(outermostPauses));
        return phases.values().stream()
                .mapToLong(ofCycle -> new Intervals(ofCycle).outside(pauses))
                .sum();
    }

    boolean hasCollected() {
        return !heaps.isEmpty();
    }

    /** @return heap occupancy before the first collection of this iteration */
    long firstHeapBytes() {
        return firstHeapBytes;
    }

    long lastHeapBytes() {
        return lastHeapBytes;
    }

    long mostHeapBytes() {
        return heaps.values().stream().mapToLong(Long::longValue).max().orElse(0);
    }

    /**
     * The line of a pause comes after those of nested pauses (a young collection that became a full one).
     *
     * @return duration of the nested pauses, ns
     */
    private long addPause(long[] interval) {
        long withinNs = 0;
        while (!outermostPauses.isEmpty()) {
            long[] last = outermostPauses.getLast();
            // Use the middle, because the ends are known only to 1 us.
            if (last[0] / 2 + last[1] / 2 < interval[0]) {
                break;
            }
            withinNs += last[1] - last[0];
            outermostPauses.removeLast();
        }
        outermostPauses.addLast(interval);
        return withinNs;
    }

    private static long bytes(String number, String unit) {
        return Long.parseLong(number) << 10 * UNITS.indexOf(unit);
    }

    private static long[] interval(Matcher ended) {
        long end = Long.parseLong(ended.group(1));
        return new long[] {end - ns(ended.group(6)), end};
    }

    private static long ns(String ms) {
        return Math.round(Double.parseDouble(ms.replace(',', '.')) * NS_PER_MS);
    }

    /** {@code Mark Cycle}, {@code Undo Cycle}: all phases of G1 with the time between them. */
    private static boolean isWholeCycle(String name) {
        return name.endsWith("Cycle");
    }

    private static String kind(String name) {
        Matcher young = KIND_OF_YOUNG.matcher(name);
        if (young.matches()) {
            return young.group(1);
        }
        // Without the cause and without the heap before and after.
        return name.replaceFirst(" \\(.*", "").replaceFirst(" \\d+[BKMG].*", "");
    }
}
