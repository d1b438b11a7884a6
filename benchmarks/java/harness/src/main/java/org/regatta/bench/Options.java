package org.regatta.bench;

import java.util.List;

/**
 * What the command line asks for.
 *
 * @param entry the benchmark
 * @param size from 1
 * @param iterations from 1
 * @param seed any
 * @param collect whether a full collection precedes each iteration but the first
 * @param safepointLog file to which the JVM logs its safepoints; null: none
 */
record Options(Entry entry, int size, int iterations, long seed, boolean collect, String safepointLog) {
    static final long DEFAULT_SEED = 1;

    /** Asks for {@code collect} too, because a modifier of a spec adds flags of the JVM, not arguments. */
    private static final String COLLECT_PROPERTY = "regatta.collect";

    static final String HELP = """
            usage: BENCH --size N --iterations N [--seed S] [--collect] [--pauses FILE]
                   --list | --help

              --size N         how much work an iteration is (1, 2, ...)
              --iterations N   how many times it is done; all are reported, none is left out as warm-up
              --seed S         seed of the input; default: REGATTA_SEED, then 1
              --collect        a full collection (System.gc()) before each iteration but the first, outside of
                               the measured time; -Dregatta.collect=true given to the JVM asks for it too
              --pauses FILE    where the JVM logs its safepoints (-Xlog:safepoint:file=FILE:none:filecount=0);
                               without it the collectors' beans are read, and single pauses are not known
              --list           print the benchmarks
              --help           print this

            Measurements go to the file that REGATTA_RESULTS names, one JSON object a line; without it, to
            standard output for people. Exit code: 0 done, 1 failed, 2 wrong arguments.
            """;

    static Options parse(String[] args, List<Entry> entries, String environmentSeed) throws UsageException {
        Entry entry = null;
        Long size = null;
        Long iterations = null;
        Long seed = null;
        boolean collect = Boolean.getBoolean(COLLECT_PROPERTY);
        String safepointLog = null;
        for (int i = 0; i < args.length; i++) {
            String arg = args[i];
            switch (arg) {
                case "--collect" -> collect = true;
                case "--pauses" -> safepointLog = value(args, ++i);
                case "--iterations" -> iterations = number(arg, value(args, ++i), 1, Integer.MAX_VALUE);
                case "--size" -> size = number(arg, value(args, ++i), 1, Integer.MAX_VALUE);
                case "--seed" -> seed = number(arg, value(args, ++i), Long.MIN_VALUE, Long.MAX_VALUE);
                default -> {
                    if (arg.startsWith("-")) {
                        throw new UsageException("unknown option " + arg + "; see --help");
                    }
                    if (entry != null) {
                        throw new UsageException("expected one benchmark, got " + entry.name() + " and " + arg);
                    }
                    entry = find(arg, entries);
                }
            }
        }
        if (entry == null) {
            throw new UsageException("expected a benchmark, one of " + names(entries) + "; see --help");
        }
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
        return new Options(entry, size.intValue(), iterations.intValue(), seed, collect, safepointLog);
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
        return String.join(", ", entries.stream().map(Entry::name).toList());
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
            // told below, together with a number that is out of range
        }
        throw new UsageException(
                where + ": expected a whole number from " + least + " to " + most + ", got '" + text + "'");
    }
}
