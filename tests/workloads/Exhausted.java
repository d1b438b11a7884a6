import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.regatta.bench.Benchmark;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;
import org.regatta.bench.OutputDigest;

/** Benchmarks whose worker asks for more than the heap can ever hold: it fails at once, not after minutes of collecting. */
public final class Exhausted {
    private static volatile long[] held;

    private Exhausted() {}

    private static void ask() {
        held = new long[Integer.MAX_VALUE / 2];
    }

    /** The way of h2: a pool's thread fails, and who asks it for its result gets the error in a wrapping. */
    private static final class Pooled extends Base {
        @Override
        public long iterate(int iteration) throws Exception {
            ExecutorService pool = Executors.newSingleThreadExecutor();
            try {
                pool.submit(Exhausted::ask).get();
            } catch (ExecutionException e) {
                throw e.getCause() instanceof Exception cause ? cause : e;
            } finally {
                pool.shutdown();
            }
            return 1;
        }
    }

    /** The way of a library: a thread that nobody asks fails, and the work would wait for it. */
    private static final class Alone extends Base {
        @Override
        public long iterate(int iteration) throws Exception {
            new Thread(Exhausted::ask).start();
            Thread.sleep(60_000);
            return 1;
        }
    }

    private abstract static class Base implements Benchmark {
        @Override
        public void setup(int size, long seed) {}

        @Override
        public void digest(OutputDigest out) {
            out.put(1);
        }
    }

    public static void main(String[] args) {
        Harness.main(
                args,
                List.of(
                        new Entry("pooled", "fails in a pool", 1, Pooled::new),
                        new Entry("alone", "fails in a thread of its own", 1, Alone::new)));
    }
}
