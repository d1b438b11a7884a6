import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
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

    /** The way of h2 at its loading: the failure of a batch has the error neither as its cause nor in its message. */
    private static final class Batch extends Base {
        @Override
        public long iterate(int iteration) throws Exception {
            Connection connection = DriverManager.getConnection("jdbc:h2:mem:;TRACE_LEVEL_SYSTEM_OUT=0");
            connection.createStatement().execute("CREATE TABLE t(s CHARACTER LARGE OBJECT)");
            PreparedStatement insert = connection.prepareStatement("INSERT INTO t VALUES (SPACE(?))");
            insert.setInt(1, 1_000_000_000);
            insert.addBatch();
            return insert.executeBatch()[0];
        }
    }

    /** Two clients of one database: one fails because the other's error has closed it, and is the first to end. */
    private static final class Clients extends Base {
        @Override
        public long iterate(int iteration) throws Exception {
            CountDownLatch closed = new CountDownLatch(1);
            return new org.regatta.bench.Clients(2, 1).run((number, log) -> {
                if (number == 0) {
                    closed.countDown();
                    throw new SQLException("the database is closed");
                }
                closed.await();
                // Until the other has ended; were it later, the test would find less, and would not fail.
                Thread.sleep(500);
                ask();
                return 1;
            });
        }
    }

    /** A chain of exceptions that has no end, and nothing to do with memory. */
    private static final class Cycle extends Base {
        @Override
        public long iterate(int iteration) throws Exception {
            SQLException failure = new SQLException("a", new IllegalStateException("b"));
            failure.setNextException(failure);
            throw failure;
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
                        new Entry("alone", "fails in a thread of its own", 1, Alone::new),
                        new Entry("batch", "fails in a batch of a database", 1, Batch::new),
                        new Entry("clients", "fails in the second of two clients", 1, Clients::new),
                        new Entry("cycle", "fails for another reason", 1, Cycle::new)));
    }
}
