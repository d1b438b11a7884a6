package org.regatta.bench.orders;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Random;
import org.regatta.bench.Requests;

/**
 * One clerk with a connection, who draws and runs transactions.
 *
 * <p>The result does not depend on the interleaving with other terminals:
 * <ul>
 *   <li>Each warehouse has one terminal: only this terminal numbers, delivers and reads the orders.
 *   <li>Customers and stocks of other warehouses are changed only by additions and by the stock rule, which
 *       subtracts modulo 91 within 10..100; all of these commute.
 *   <li>Random draws never depend on read data, and a retried transaction is not drawn again.
 * </ul>
 * Rows that several terminals lock are locked in ascending order, to avoid deadlocks.
 *
 * <p>Source: TPC Benchmark C, revision 5.11, clauses 2.4 to 2.8 for the transactions and 5.2.3 for their mix.
 */
final class Terminal {
    private static final int MOST_ATTEMPTS = 100;
    private static final int MOST_LINES = 15;
    private static final int LEAST_LINES = 5;
    private static final int NO_SUCH_ITEM = OrderDatabase.ITEMS + 1;

    private final Connection connection;
    private final Engine engine;
    private final int number;
    private final int terminals;
    private final Random random;
    private final Statements sql;
    private int payments;

    /** A drawn transaction that can be run, several times if necessary. */
    private interface Transaction {
        long run() throws SQLException;
    }

    Terminal(Connection connection, Engine engine, int number, int terminals, long seed) throws SQLException {
        this.connection = connection;
        this.engine = engine;
        this.number = number;
        this.terminals = terminals;
        // The odd factor separates the random streams of the terminals from each other and from that of the loader.
        this.random = new Random(seed + (number + 1) * 0x9E3779B97F4A7C15L);
        connection.setAutoCommit(false);
        this.sql = new Statements(connection);
    }

    /**
     * @param requests records each transaction from its draw until its commit, including retries
     * @return a sum over all read data
     */
    long run(int transactions, Requests requests) throws SQLException {
        long sum = 0;
        for (int i = 0; i < transactions; i++) {
            long beganNs = System.nanoTime();
            sum += commit(draw());
            requests.ended(beganNs);
        }
        return sum;
    }

    private Transaction draw() {
        int w = 1 + number + terminals * random.nextInt(OrderDatabase.WAREHOUSES / terminals);
        int d = 1 + random.nextInt(OrderDatabase.DISTRICTS);
        int share = random.nextInt(100);
        if (share < 45) {
            return newOrder(w, d);
        }
        if (share < 88) {
            return payment(w, d);
        }
        if (share < 92) {
            int c = customer();
            return () -> orderStatus(w, d, c);
        }
        if (share < 96) {
            int carrier = 1 + random.nextInt(10);
            return () -> delivery(w, carrier);
        }
        int threshold = 10 + random.nextInt(11);
        return () -> stockLevel(w, d, threshold);
    }

    private long commit(Transaction transaction) throws SQLException {
        for (int attempt = 1; ; attempt++) {
            try {
                long result = transaction.run();
                connection.commit();
                return result;
            } catch (SQLException e) {
                rollbackAfter(e);
                if (attempt == MOST_ATTEMPTS || !engine.mayBeTriedAgain(e)) {
                    throw e;
                }
            }
        }
    }

    /** Roll back without hiding the cause: after an exhausted heap the database is closed, and this also fails. */
    private void rollbackAfter(SQLException failure) throws SQLException {
        try {
            connection.rollback();
        } catch (SQLException e) {
            failure.addSuppressed(e);
            throw failure;
        }
    }

    private int customer() {
        return 1 + random.nextInt(OrderDatabase.CUSTOMERS_PER_DISTRICT);
    }

    private int warehouse() {
        return 1 + random.nextInt(OrderDatabase.WAREHOUSES);
    }

    private Transaction newOrder(int w, int d) {
        int c = customer();
        // An article and its supplier in one number, which defines the lock order.
        long[] articles = new long[LEAST_LINES + random.nextInt(MOST_LINES - LEAST_LINES + 1)];
        int[] quantities = new int[articles.length];
        for (int line = 0; line < articles.length; line++) {
            int supplier = random.nextInt(100) == 0 ? warehouse() : w;
            articles[line] = (long) supplier << Integer.SIZE | 1 + random.nextInt(OrderDatabase.ITEMS);
            quantities[line] = 1 + random.nextInt(10);
        }
        Arrays.sort(articles);
        if (random.nextInt(100) == 0) {
            // A mistyped article, found at the end: roll back the whole order.
            articles[articles.length - 1] = (long) w << Integer.SIZE | NO_SUCH_ITEM;
        }
        return () -> newOrder(w, d, c, articles, quantities);
    }

    private long newOrder(int w, int d, int c, long[] articles, int[] quantities) throws SQLException {
        int o = (int) Statements.number(sql.nextOrder, w, d);
        Statements.update(sql.countOrder, w, d);
        Statements.update(sql.insertOrder, w, d, o, c, articles.length);
        Statements.update(sql.insertNewOrder, w, d, o);
        long total = 0;
        for (int line = 0; line < articles.length; line++) {
            int supplier = (int) (articles[line] >>> Integer.SIZE);
            int item = (int) articles[line];
            int quantity = quantities[line];
            long price = Statements.number(sql.price, item);
            if (price == Statements.NONE) {
                connection.rollback();
                return total;
            }
            Statements.update(sql.takeStock, quantity, quantity, quantity, quantity, supplier, item);
            Statements.update(sql.insertLine, w, d, o, line, item, supplier, quantity, price * quantity);
            total += price * quantity;
        }
        return total;
    }

    private Transaction payment(int w, int d) {
        boolean remote = random.nextInt(100) < 15;
        int customerWarehouse = remote ? warehouse() : w;
        int customerDistrict = remote ? 1 + random.nextInt(OrderDatabase.DISTRICTS) : d;
        int c = customer();
        long amount = 100L + random.nextInt(500_000);
        int payment = payments++;
        return () -> {
            Statements.update(sql.payWarehouse, amount, w);
            Statements.update(sql.payDistrict, amount, w, d);
            Statements.update(sql.insertHistory, number, payment, w, d, customerWarehouse, customerDistrict, c, amount);
            Statements.update(sql.payCustomer, amount, amount, customerWarehouse, customerDistrict, c);
            return amount;
        };
    }

    private long orderStatus(int w, int d, int c) throws SQLException {
        long o = Statements.number(sql.lastOrder, w, d, c);
        return o == Statements.NONE ? 0 : Statements.sum(sql.linesOfOrder, w, d, o);
    }

    private long delivery(int w, int carrier) throws SQLException {
        long total = 0;
        for (int d = 1; d <= OrderDatabase.DISTRICTS; d++) {
            long o = Statements.number(sql.oldestNewOrder, w, d);
            if (o == Statements.NONE) {
                continue;
            }
            Statements.update(sql.deleteNewOrder, w, d, o);
            Statements.update(sql.setCarrier, carrier, w, d, o);
            long amount = Statements.sum(sql.linesOfOrder, w, d, o);
            Statements.update(sql.deliverCustomer, amount, w, d, Statements.number(sql.customerOfOrder, w, d, o));
            total += amount;
        }
        return total;
    }

    private long stockLevel(int w, int d, int threshold) throws SQLException {
        long next = Statements.number(sql.nextOrder, w, d);
        return Statements.number(sql.lowStock, w, d, next - 20, next, threshold);
    }

    /** The prepared statements of a connection. */
    private static final class Statements {
        /** Returned by {@code number} if there is no row or a null. */
        static final long NONE = -1;

        final PreparedStatement nextOrder;
        final PreparedStatement countOrder;
        final PreparedStatement insertOrder;
        final PreparedStatement insertNewOrder;
        final PreparedStatement price;
        final PreparedStatement takeStock;
        final PreparedStatement insertLine;
        final PreparedStatement payWarehouse;
        final PreparedStatement payDistrict;
        final PreparedStatement payCustomer;
        final PreparedStatement insertHistory;
        final PreparedStatement lastOrder;
        final PreparedStatement linesOfOrder;
        final PreparedStatement oldestNewOrder;
        final PreparedStatement deleteNewOrder;
        final PreparedStatement setCarrier;
        final PreparedStatement customerOfOrder;
        final PreparedStatement deliverCustomer;
        final PreparedStatement lowStock;

        Statements(Connection on) throws SQLException {
            nextOrder = on.prepareStatement("SELECT next_order FROM district WHERE w = ? AND d = ?");
            countOrder = on.prepareStatement("UPDATE district SET next_order = next_order + 1 WHERE w = ? AND d = ?");
            insertOrder = on.prepareStatement("INSERT INTO orders VALUES (?, ?, ?, ?, ?, NULL)");
            insertNewOrder = on.prepareStatement("INSERT INTO new_order VALUES (?, ?, ?)");
            price = on.prepareStatement("SELECT price FROM item WHERE i = ?");
            takeStock = on.prepareStatement("UPDATE stock SET"
                    + " quantity = CASE WHEN quantity - ? >= 10 THEN quantity - ? ELSE quantity - ? + 91 END,"
                    + " ytd = ytd + ?, orders = orders + 1 WHERE w = ? AND i = ?");
            insertLine = on.prepareStatement("INSERT INTO order_line VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
            payWarehouse = on.prepareStatement("UPDATE warehouse SET ytd = ytd + ? WHERE w = ?");
            payDistrict = on.prepareStatement("UPDATE district SET ytd = ytd + ? WHERE w = ? AND d = ?");
            payCustomer = on.prepareStatement("UPDATE customer SET balance = balance - ?, ytd = ytd + ?,"
                    + " payments = payments + 1 WHERE w = ? AND d = ? AND c = ?");
            insertHistory = on.prepareStatement("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
            lastOrder = on.prepareStatement("SELECT MAX(o) FROM orders WHERE w = ? AND d = ? AND c = ?");
            linesOfOrder = on.prepareStatement("SELECT amount FROM order_line WHERE w = ? AND d = ? AND o = ?");
            oldestNewOrder = on.prepareStatement("SELECT MIN(o) FROM new_order WHERE w = ? AND d = ?");
            deleteNewOrder = on.prepareStatement("DELETE FROM new_order WHERE w = ? AND d = ? AND o = ?");
            setCarrier = on.prepareStatement("UPDATE orders SET carrier = ? WHERE w = ? AND d = ? AND o = ?");
            customerOfOrder = on.prepareStatement("SELECT c FROM orders WHERE w = ? AND d = ? AND o = ?");
            deliverCustomer = on.prepareStatement("UPDATE customer SET balance = balance + ?,"
                    + " deliveries = deliveries + 1 WHERE w = ? AND d = ? AND c = ?");
            lowStock = on.prepareStatement("SELECT COUNT(DISTINCT l.i) FROM order_line l"
                    + " JOIN stock s ON s.w = l.w AND s.i = l.i"
                    + " WHERE l.w = ? AND l.d = ? AND l.o >= ? AND l.o < ? AND s.quantity < ?");
        }

        static void update(PreparedStatement statement, Object... values) throws SQLException {
            OrderDatabase.set(statement, values);
            int rows = statement.executeUpdate();
            if (rows != 1) {
                throw new SQLException("expected 1 changed row, got " + rows + ": " + statement);
            }
        }

        static long number(PreparedStatement statement, Object... values) throws SQLException {
            OrderDatabase.set(statement, values);
            try (ResultSet rows = statement.executeQuery()) {
                long number = rows.next() ? rows.getLong(1) : NONE;
                return rows.wasNull() ? NONE : number;
            }
        }

        static long sum(PreparedStatement statement, Object... values) throws SQLException {
            OrderDatabase.set(statement, values);
            long sum = 0;
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    sum += rows.getLong(1);
                }
            }
            return sum;
        }
    }
}
