import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.regatta.bench.Benchmark;
import org.regatta.bench.Entry;
import org.regatta.bench.Listener;
import org.regatta.bench.Measurement;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.Requests;

/**
 * Runs the same benchmark in a loop with only {@code System.nanoTime()}. The arguments are the main class of the program,
 * the benchmark, size, seed and number of iterations. Prints one line per iteration: its ns.
 */
public final class Iterations {
    private static volatile long sunk;

    private Iterations() {}

    public static void main(String[] args) throws Exception {
        Benchmark benchmark = find(args[0], args[1]);
        benchmark.setup(Integer.parseInt(args[2]), Long.parseLong(args[3]));
        for (int iteration = 0; iteration < Integer.parseInt(args[4]); iteration++) {
            benchmark.prepare(iteration);
            long start = System.nanoTime();
            sunk = benchmark.iterate(iteration);
            long elapsedNs = System.nanoTime() - start;
            OutputDigest digest = new OutputDigest();
            benchmark.digest(digest);
            System.out.println(elapsedNs);
        }
        benchmark.teardown();
        System.exit(0);
    }

    private static Benchmark find(String main, String name) throws ReflectiveOperationException {
        Field entries = Class.forName(main).getDeclaredField("ENTRIES");
        entries.setAccessible(true);
        for (Object entry : (List<?>) entries.get(null)) {
            if (((Entry) entry).name().equals(name)) {
                return ((Entry) entry).factory().get();
            }
        }
        throw new IllegalArgumentException("no benchmark " + name + " in " + main);
    }

    /** The last listener of the harness: measures the time between its calls, less that of the benchmark. */
    public static final class Costs implements Listener {
        private final Path file = Path.of(System.getProperty("costs"));
        private long startingNs;
        private long stoppedNs;
        private long elapsedNs;
        private long costNs;

        @Override
        public void iterationStarting(int iteration) {
            startingNs = System.nanoTime();
        }

        @Override
        public void iterationStopped(int iteration) {
            stoppedNs = System.nanoTime();
        }

        @Override
        public void iterationEnded(int iteration, List<Measurement> measurements) {
            elapsedNs = measurements.get(0).value();
            // Reading counters before and after; then reading logs and writing lines.
            costNs = stoppedNs - startingNs - elapsedNs + System.nanoTime() - stoppedNs;
            stoppedNs = System.nanoTime();
        }

        @Override
        public void requested(int iteration, List<Requests> logs) {
            costNs += System.nanoTime() - stoppedNs;
        }

        @Override
        public void validated(int iteration) {
            stoppedNs = System.nanoTime();
        }

        @Override
        public void digested(int iteration, String digest) throws Exception {
            costNs += System.nanoTime() - stoppedNs;
            String line = elapsedNs + " " + costNs + "\n";
            Files.write(
                    file,
                    line.getBytes(StandardCharsets.US_ASCII),
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
        }
    }
}
