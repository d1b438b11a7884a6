package org.regatta.bench;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Runs one benchmark of a suite: {@code main} of every workload jar. */
public final class Harness {
    static final int EXIT_FAILED = 1;
    static final int EXIT_USAGE = 2;
    /** Exit code of {@code --probe} if this JVM lacks something that the benchmark needs. */
    static final int EXIT_NOT_POSSIBLE = 4;

    private Harness() {}

    /** Run the command line and end the process. */
    public static void main(String[] args, List<Entry> entries) {
        Fatal.prepare();
        // Libraries convert case and format numbers with the default locale: in Turkish some work would differ.
        Locale.setDefault(Locale.ENGLISH);
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        String results = System.getenv("REGATTA_RESULTS");
        Listener lines = results == null ? new PrintedLines(out) : new ResultLines(Path.of(results));
        Listener listener;
        try {
            listener = Listeners.withProperty(lines);
        } catch (UsageException e) {
            System.exit(usage(e));
            return;
        }
        // Handles uncaught exceptions in threads that the workload or a library started.
        Thread.setDefaultUncaughtExceptionHandler((thread, thrown) -> fail(thrown, listener));
        System.exit(run(args, entries, out, listener));
    }

    private static int run(String[] args, List<Entry> entries, PrintStream out, Listener listener) {
        List<String> words = List.of(args);
        if (words.contains("--help")) {
            out.print(Options.HELP);
            return 0;
        }
        if (words.contains("--list")) {
            entries.forEach(entry -> out.println(entry.name() + "\t" + entry.description()));
            return 0;
        }
        try {
            Options options = Options.parse(args, entries, System.getenv("REGATTA_SEED"));
            if (options.probe()) {
                return probe(options.entry());
            }
            runIterations(options, listener);
            return 0;
        } catch (UsageException e) {
            return usage(e);
        } catch (Throwable thrown) {
            fail(thrown, listener);
            return EXIT_FAILED;
        }
    }

    private static int usage(UsageException e) {
        System.err.println("error: " + e.getMessage());
        return EXIT_USAGE;
    }

    private static int probe(Entry entry) throws Throwable {
        String reason = Probe.reasonAgainst(entry);
        if (reason == null) {
            return 0;
        }
        System.err.println("not possible: " + reason);
        return EXIT_NOT_POSSIBLE;
    }

    private static void runIterations(Options options, Listener listener) throws Exception {
        Meters meters = new Meters(options);
        listener.started(info(options, meters));
        Benchmark benchmark = options.entry().factory().get();
        if (benchmark instanceof WatchesCollections) {
            ((WatchesCollections) benchmark).watch(CollectionWatch.open(options));
        }
        benchmark.setup(options.size(), options.seed());
        for (int iteration = 0; iteration < options.iterations(); iteration++) {
            benchmark.prepare(iteration);
            if (options.collect() && iteration > 0) {
                meters.collect();
                listener.collected(iteration);
            }
            listener.iterationStarting(iteration);
            meters.start(iteration);
            Sink.consume(benchmark.iterate(iteration));
            meters.stop(iteration);
            listener.iterationStopped(iteration);
            List<Measurement> measurements = new ArrayList<>(meters.measurements());
            measurements.addAll(benchmark.measurements());
            listener.iterationEnded(iteration, measurements);
            listener.requested(iteration, benchmark.requests());
            OutputDigest digest = new OutputDigest();
            benchmark.digest(digest);
            listener.validated(iteration);
            listener.digested(iteration, digest.hex());
        }
        benchmark.teardown();
        listener.finished();
    }

    private static Map<String, Object> info(Options options, Meters meters) {
        Map<String, Object> info = new LinkedHashMap<>();
        info.put("benchmark", options.entry().name());
        info.put("size", options.size());
        info.put("seed", options.seed());
        info.put("iterations", options.iterations());
        info.put("collect", options.collect());
        info.put("java_version", System.getProperty("java.version"));
        info.put("java_vm", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        info.put("collectors", meters.collectorNames());
        info.put("processors", Runtime.getRuntime().availableProcessors());
        info.put("max_heap_bytes", Runtime.getRuntime().maxMemory());
        info.put("allocated_counts", meters.allocationSource());
        info.put("pauses_from", meters.pauseSource());
        return info;
    }

    /** End the process with code 1; an exhausted heap has a distinct message. */
    private static void fail(Throwable thrown, Listener listener) {
        Fatal.releaseReserve();
        try {
            if (Fatal.isOutOfMemory(thrown)) {
                Fatal.haltOutOfMemory(thrown);
            }
            thrown.printStackTrace();
            listener.failed(thrown);
        } catch (OutOfMemoryError e) {
            Fatal.haltOutOfMemory(e);
        } catch (Throwable e) {
            System.err.println("error: the failure could not be recorded: " + e);
        } finally {
            // halt, not exit: hanging threads must not keep a failed process alive
            Runtime.getRuntime().halt(EXIT_FAILED);
        }
    }
}
