package org.regatta.bench.orders;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.regatta.bench.Benchmark;
import org.regatta.bench.Clients;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.Requests;

/**
 * Terminals run order-entry transactions (a mix based on TPC-C, scaled down) on a database in memory; the output is the
 * content of all tables.
 *
 * <p>Each iteration starts from a newly loaded database. The terminals share rows and wait for each other, but the
 * final tables do not depend on the interleaving. Each warehouse has one terminal, which alone numbers its orders, and
 * changes by several terminals commute (see {@link Terminal}). The tables are therefore also the same on every
 * database.
 */
public final class OrderEntry implements Benchmark {
    public static final int MAX_SIZE = 10_000;

    private static final int TRANSACTIONS_PER_SIZE = 100;
    private static final int TERMINALS = 2;

    private final Engine engine;
    private final List<Terminal> terminals = new ArrayList<>();
    private final List<Connection> connections = new ArrayList<>();
    private Connection keeper;
    private Clients clients;
    private int transactionsPerTerminal;
    private long seed;

    public OrderEntry(Engine engine) {
        this.engine = engine;
    }

    @Override
    public void setup(int size, long seed) {
        this.seed = seed;
        transactionsPerTerminal = size * TRANSACTIONS_PER_SIZE / TERMINALS;
        clients = new Clients(TERMINALS, transactionsPerTerminal);
    }

    @Override
    public void prepare(int iteration) throws SQLException {
        closeDatabase();
        clients.clear();
        // The database exists as long as one connection is open; this one also loads it.
        keeper = engine.connect();
        OrderDatabase.load(keeper, seed);
        for (int i = 0; i < TERMINALS; i++) {
            Connection connection = engine.connect();
            connections.add(connection);
            terminals.add(new Terminal(connection, engine, i, TERMINALS, seed));
        }
    }

    @Override
    public long iterate(int iteration) throws Exception {
        return clients.run((number, log) -> terminals.get(number).run(transactionsPerTerminal, log));
    }

    @Override
    public List<Requests> requests() {
        return clients.logs();
    }

    @Override
    public void digest(OutputDigest out) throws Exception {
        OrderDatabase.check(keeper);
        OrderDatabase.digest(keeper, out);
    }

    @Override
    public void teardown() throws SQLException {
        closeDatabase();
        clients.close();
    }

    private void closeDatabase() throws SQLException {
        for (Connection connection : connections) {
            connection.close();
        }
        connections.clear();
        terminals.clear();
        if (keeper != null) {
            engine.shutDown(keeper);
            keeper.close();
            keeper = null;
        }
    }
}
