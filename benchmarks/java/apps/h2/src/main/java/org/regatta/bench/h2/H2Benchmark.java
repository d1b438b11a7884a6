package org.regatta.bench.h2;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.h2.jdbcx.JdbcDataSource;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.Requests;

/**
 * Terminals run order-entry transactions (a mix after TPC-C, scaled down) against an in-memory H2 database; the
 * output is the content of all tables.
 *
 * <p>Each iteration starts from a freshly loaded database. The terminals share rows and wait for each other, yet
 * the tables end the same whatever the interleaving: a terminal alone numbers the orders of its warehouses,
 * and what several of them change is changed by steps that commute (see {@link Terminal}).
 */
final class H2Benchmark implements Benchmark {
    static final int MAX_SIZE = 1000;
    private static final int TRANSACTIONS_PER_SIZE = 1000;

    /** Fixed, not the number of processors: the same work on every machine. */
    private static final int TERMINALS = 2;

    private final ExecutorService threads = Executors.newFixedThreadPool(TERMINALS, H2Benchmark::daemon);
    private final List<Connection> connections = new ArrayList<>();
    private final List<Terminal> terminals = new ArrayList<>();
    private final List<Requests> requests = new ArrayList<>();
    private int transactionsPerTerminal;
    private long seed;

    @Override
    public void setup(int size, long seed) {
        this.seed = seed;
        transactionsPerTerminal = size * TRANSACTIONS_PER_SIZE / TERMINALS;
        for (int i = 0; i < TERMINALS; i++) {
            requests.add(new Requests(transactionsPerTerminal));
        }
    }

    @Override
    public void prepare(int iteration) throws SQLException {
        closeDatabase();
        requests.forEach(Requests::clear);
        JdbcDataSource source = new JdbcDataSource();
        source.setURL("jdbc:h2:mem:orders;LOCK_TIMEOUT=60000;TRACE_LEVEL_SYSTEM_OUT=0");
        // The database lives as long as one connection to it is open; this one does the loading.
        Connection keeper = source.getConnection();
        connections.add(keeper);
        OrderDatabase.load(keeper, seed);
        for (int i = 0; i < TERMINALS; i++) {
            Connection connection = source.getConnection();
            connections.add(connection);
            terminals.add(new Terminal(connection, i, TERMINALS, seed));
        }
    }

    @Override
    public long iterate(int iteration) throws Exception {
        // Taken as they end: a terminal that failed may hold rows that another would wait for.
        CompletionService<Long> results = new ExecutorCompletionService<>(threads);
        for (int i = 0; i < terminals.size(); i++) {
            Terminal terminal = terminals.get(i);
            Requests log = requests.get(i);
            results.submit(() -> terminal.run(transactionsPerTerminal, log));
        }
        long sum = 0;
        for (int i = 0; i < terminals.size(); i++) {
            try {
                sum += results.take().get();
            } catch (ExecutionException e) {
                throw e.getCause() instanceof Exception cause ? cause : e;
            }
        }
        return sum;
    }

    @Override
    public List<Requests> requests() {
        return requests;
    }

    @Override
    public void digest(OutputDigest out) throws Exception {
        OrderDatabase.check(connections.get(0));
        OrderDatabase.digest(connections.get(0), out);
    }

    @Override
    public void teardown() throws SQLException {
        closeDatabase();
        threads.shutdown();
    }

    private void closeDatabase() throws SQLException {
        for (Connection connection : connections) {
            connection.close();
        }
        connections.clear();
        terminals.clear();
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "terminal");
        thread.setDaemon(true);
        return thread;
    }
}
