import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.regatta.bench.Benchmark;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;
import org.regatta.bench.Listener;
import org.regatta.bench.Measurement;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.Requests;
import org.regatta.bench.UnsupportedRuntimeException;
import org.regatta.bench.WrongResultException;

/** Benchmarks whose behaviour is known, to test the harness with. */
public final class HarnessCases {
    private HarnessCases() {}

    /** Keeps some 20 MB alive and makes so many MB of garbage as its size says. */
    private static final class Churn extends Base {
        private static final int PIECE_BYTES = 1000;
        private static final int ALIVE = 20_000;

        private final byte[][] alive = new byte[ALIVE][];

        @Override
        public long iterate(int iteration) {
            Random random = new Random(1);
            long sum = 0;
            for (int i = 0; i < size * 1000; i++) {
                byte[] piece = new byte[PIECE_BYTES];
                piece[0] = (byte) i;
                byte[] old = alive[random.nextInt(ALIVE)];
                sum += old == null ? 0 : old[0];
                alive[random.nextInt(ALIVE)] = piece;
            }
            return sum;
        }
    }

    /** Writes to the log that the harness reads what a file of the iteration holds: a JVM whose every word is known. */
    private static final class Logged extends Base {
        @Override
        public long iterate(int iteration) throws Exception {
            byte[] lines = Files.readAllBytes(Path.of(System.getProperty("lines") + iteration));
            Files.write(Path.of(System.getProperty("log")), lines, StandardOpenOption.APPEND);
            return lines.length;
        }
    }

    /** One thread works for {@code size} ms of processor time while the iterating one waits for it. */
    private static final class Elsewhere extends Base {
        @Override
        public long iterate(int iteration) throws Exception {
            Thread worker = new Thread(() -> {
                ThreadMXBean threads = ManagementFactory.getThreadMXBean();
                while (threads.getCurrentThreadCpuTime() < size * 1_000_000L) {
                    // works
                }
            });
            worker.start();
            worker.join();
            return 1;
        }
    }

    /** A thread makes 50 MB and ends, another begins and stays. */
    private static final class Ended extends Base {
        private static volatile byte[] made;

        @Override
        public long iterate(int iteration) throws Exception {
            Thread ending = new Thread(() -> made = new byte[50_000_000]);
            ending.start();
            ending.join();
            Thread staying = new Thread(() -> LockSupport.park());
            staying.setDaemon(true);
            staying.start();
            return made.length;
        }
    }

    /** The iterating thread itself works for {@code size} ms of processor time. */
    private static final class Here extends Base {
        @Override
        public long iterate(int iteration) {
            ThreadMXBean threads = ManagementFactory.getThreadMXBean();
            long end = threads.getCurrentThreadCpuTime() + size * 1_000_000L;
            while (threads.getCurrentThreadCpuTime() < end) {
                // works
            }
            return 1;
        }
    }

    /** Gives an output that it finds wrong itself. */
    private static final class Wrong extends Base {
        @Override
        public void digest(OutputDigest out) throws WrongResultException {
            throw new WrongResultException("one and one is three");
        }
    }

    /** Fails in its setup, so that nobody can run it unnoticed, and in its probe as it is told. */
    private static final class Probed extends Base {
        private final Exception thrown;

        Probed(Exception thrown) {
            this.thrown = thrown;
        }

        @Override
        public void probe() throws Exception {
            if (thrown != null) {
                throw thrown;
            }
        }

        @Override
        public void setup(int size, long seed) {
            throw new IllegalStateException("the probe does no setup");
        }
    }

    /** Needs a class that came with release 16. */
    private static final class Newer extends Base {
        @Override
        public void probe() throws ClassNotFoundException {
            Class.forName("java.lang.Record");
        }
    }

    private abstract static class Base implements Benchmark {
        int size;

        @Override
        public void setup(int size, long seed) {
            this.size = size;
        }

        @Override
        public long iterate(int iteration) throws Exception {
            return 1;
        }

        @Override
        public void digest(OutputDigest out) throws Exception {
            out.put(1);
        }
    }

    /** Prints what it hears. */
    public static final class Heard implements Listener {
        private final List<String> heard = new ArrayList<>();

        @Override
        public void started(Map<String, Object> info) {
            heard.add("started " + info.get("benchmark"));
        }

        @Override
        public void collected(int iteration) {
            heard.add("collected " + iteration);
        }

        @Override
        public void iterationStarting(int iteration) {
            heard.add("starting " + iteration);
        }

        @Override
        public void iterationStopped(int iteration) {
            heard.add("stopped " + iteration);
        }

        @Override
        public void iterationEnded(int iteration, List<Measurement> measurements) {
            heard.add("ended " + iteration + " " + measurements.get(0).metric());
        }

        @Override
        public void requested(int iteration, List<Requests> logs) {
            heard.add("requested " + iteration);
        }

        @Override
        public void validated(int iteration) {
            heard.add("validated " + iteration);
        }

        @Override
        public void digested(int iteration, String digest) {
            heard.add("digested " + iteration);
        }

        @Override
        public void finished() {
            heard.add("finished");
            System.out.println(String.join("\n", heard));
        }

        @Override
        public void failed(Throwable cause) {
            heard.add("failed " + cause.getMessage());
            System.out.println(String.join("\n", heard));
        }
    }

    /** Prints what lay between its two calls around an iteration: time, and processor time of this thread, in ns. */
    public static class Around implements Listener {
        private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        private long startNs;
        private long startCpuNs;

        @Override
        public void iterationStarting(int iteration) throws Exception {
            startNs = System.nanoTime();
            startCpuNs = threads.getCurrentThreadCpuTime();
        }

        @Override
        public void iterationStopped(int iteration) throws Exception {
            long cpuNs = threads.getCurrentThreadCpuTime() - startCpuNs;
            System.out.println("around " + (System.nanoTime() - startNs) + " " + cpuNs);
        }
    }

    /** Is slow and allocates, both outside of the measured time and of what it prints. */
    public static final class Slow extends Around {
        private static volatile byte[] made;

        private static void work() throws InterruptedException {
            Thread.sleep(300);
            made = new byte[50_000_000];
        }

        @Override
        public void iterationStarting(int iteration) throws Exception {
            work();
            super.iterationStarting(iteration);
        }

        @Override
        public void iterationStopped(int iteration) throws Exception {
            super.iterationStopped(iteration);
            work();
        }
    }

    public static final class Failing implements Listener {
        @Override
        public void validated(int iteration) {
            throw new IllegalStateException("the listener has had enough");
        }
    }

    public static final class Unmade implements Listener {
        public Unmade() {
            throw new IllegalStateException("no licence");
        }
    }

    public static void main(String[] args) {
        Exception unsupported = new UnsupportedRuntimeException("no jdk.compiler\nin this JVM");
        Exception wrapped = new IllegalStateException("cannot begin", new UnsupportedOperationException("no threads"));
        Harness.main(
                args,
                List.of(
                        new Entry("churn", "allocates", 10_000, () -> new Churn()),
                        new Entry("logged", "writes a log", 1, () -> new Logged()),
                        new Entry("elsewhere", "works in another thread", 10_000, () -> new Elsewhere()),
                        new Entry("ended", "allocates in a thread that ends", 1, () -> new Ended()),
                        new Entry("here", "works in its thread", 10_000, () -> new Here()),
                        new Entry("wrong", "is wrong", 1, () -> new Wrong()),
                        new Entry("possible", "can run", 1, () -> new Probed(null)),
                        new Entry("unsupported", "cannot run", 1, () -> new Probed(unsupported)),
                        new Entry("wrapped", "cannot run", 1, () -> new Probed(wrapped)),
                        new Entry("broken", "fails", 1, () -> new Probed(new IllegalStateException("a bug"))),
                        new Entry("newer", "needs a newer library", 1, () -> new Newer()),
                        new Entry("compiled-for-17", "needs a newer JVM", 1, () -> new CompiledFor17())));
    }
}
