package org.regatta.bench;

import java.util.List;
import java.util.stream.Collectors;

/** Command-line options. */
final class Options {
    static final long DEFAULT_SEED = 1;

    /** Also enables {@code collect}, because a modifier of a spec adds JVM flags, not arguments. */
    private static final String COLLECT_PROPERTY = "regatta.collect";

    static final String HELP = String.join(
            "\n",
            "usage: BENCH --size N --iterations N [--seed S] [--collect] [--pauses FILE] [--gc-log FILE]",
            "       BENCH --probe",
            "       --list | --help",
            "",
            "  --size N         amount of work per iteration (1, 2, ...)",
            "  --iterations N   number of iterations; all are reported, including warm-up",
            "  --seed S         seed of the input (default: REGATTA_SEED, or 1)",
            "  --collect        run a full collection (System.gc()) before each iteration except the first,",
            "                   outside the measured time; also: JVM flag -Dregatta.collect=true",
            "  --pauses FILE    safepoint log of the JVM (-Xlog:safepoint:file=FILE:none:filecount=0);",
            "                   default: read the collector beans, without individual pauses",
            "  --gc-log FILE    GC log of the JVM",
            "                   (-Xlog:gc,gc+marking,gc+phases:file=FILE:timenanos:filecount=0)",
            "  --probe          only check whether this JVM can run the benchmark",
            "  --list           print the benchmarks",
            "  --help           print this help",
            "",
            "JVM flag -Dregatta.listener=CLASS: notify a class on the class path that implements",
            "org.regatta.bench.Listener at the start and end of each iteration.",
            "",
            "Append measurements to the file named by REGATTA_RESULTS, one JSON object per line; if unset,",
            "print text to standard output. Exit code: 0 success, 1 failure, 2 usage error, 4 --probe: not",
            "possible on this JVM (reason on standard error).",
            "");

    private Entry entry;
    private Long size;
    private Long iterations;
    private Long seed;
    private boolean collect = Boolean.getBoolean(COLLECT_PROPERTY);
    private boolean probe;
    private String safepointLog;
    private String gcLog;

    private Options() {}

    /**
     * @param args the command line
     * @param entries the available benchmarks
     * @param environmentSeed seed if the command line has none; null: none
     * @throws UsageException if the command line is wrong
     */
    static Options parse(String[] args, List<Entry> entries, String environmentSeed) throws UsageException {
        Options options = new Options();
        options.read(args, entries);
        if (options.entry == null) {
            throw new UsageException("expected a benchmark, one of " + names(entries) + "; see --help");
        }
        if (!options.probe) {
            options.complete(environmentSeed);
        }
        return options;
    }

    Entry entry() {
        return entry;
    }

    /** Whether only to check if the benchmark can run; then only {@code entry} is set. */
    boolean probe() {
        return probe;
    }

    /** From 1 to the largest size of the entry. */
    int size() {
        return size.intValue();
    }

    /** From 1. */
    int iterations() {
        return iterations.intValue();
    }

    long seed() {
        return seed;
    }

    /** Whether to run a full collection before each iteration except the first. */
    boolean collect() {
        return collect;
    }

    /** File to which the JVM logs safepoints; null: none. */
    String safepointLog() {
        return safepointLog;
    }

    /** File to which the JVM logs GC events; null: none. */
    String gcLog() {
        return gcLog;
    }

    private void read(String[] args, List<Entry> entries) throws UsageException {
        for (int i = 0; i < args.length; i++) {
            String arg = args[i];
            switch (arg) {
                case "--collect":
                    collect = true;
                    break;
                case "--probe":
                    probe = true;
                    break;
                case "--pauses":
                    safepointLog = value(args, ++i);
                    break;
                case "--gc-log":
                    gcLog = value(args, ++i);
                    break;
                case "--iterations":
                    iterations = number(arg, value(args, ++i), 1, Integer.MAX_VALUE);
                    break;
                case "--size":
                    size = number(arg, value(args, ++i), 1, Integer.MAX_VALUE);
                    break;
                case "--seed":
                    seed = number(arg, value(args, ++i), Long.MIN_VALUE, Long.MAX_VALUE);
                    break;
                default:
                    takeName(arg, entries);
            }
        }
    }

    private void takeName(String arg, List<Entry> entries) throws UsageException {
        if (arg.startsWith("-")) {
            throw new UsageException("unknown option " + arg + "; see --help");
        }
        if (entry != null) {
            throw new UsageException("expected one benchmark, got " + entry.name() + " and " + arg);
        }
        entry = find(arg, entries);
    }

    private void complete(String environmentSeed) throws UsageException {
        if (size == null || iterations == null) {
            throw new UsageException("expected " + (size == null ? "--size N" : "--iterations N") + "; see --help");
        }
        if (size > entry.maxSize()) {
            throw new UsageException(
                    "--size: expected at most " + entry.maxSize() + " for " + entry.name() + ", got " + size);
        }
        if (seed == null) {
            seed = environmentSeed == null
                    ? DEFAULT_SEED
                    : number("REGATTA_SEED", environmentSeed, Long.MIN_VALUE, Long.MAX_VALUE);
        }
    }

    private static Entry find(String name, List<Entry> entries) throws UsageException {
        for (Entry entry : entries) {
            if (entry.name().equals(name)) {
                return entry;
            }
        }
        throw new UsageException("expected a benchmark, one of " + names(entries) + ", got " + name);
    }

    private static String names(List<Entry> entries) {
        return entries.stream().map(Entry::name).collect(Collectors.joining(", "));
    }

    private static String value(String[] args, int index) throws UsageException {
        if (index >= args.length) {
            throw new UsageException(args[index - 1] + ": expected a value, got the end of the command line");
        }
        return args[index];
    }

    private static long number(String where, String text, long least, long most) throws UsageException {
        try {
            long number = Long.parseLong(text);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // reported below, like a number out of range
        }
        throw new UsageException(
                where + ": expected an integer from " + least + " to " + most + ", got '" + text + "'");
    }
}
