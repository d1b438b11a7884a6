package org.regatta.bench.orders;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;

/** The tables of the order-entry database: creation, content, check and digest. Amounts are in whole cents. */
final class OrderDatabase {
    static final int WAREHOUSES = 4;
    static final int DISTRICTS = 10;
    static final int CUSTOMERS_PER_DISTRICT = 200;
    static final int ITEMS = 3000;

    /** Range of the quantity of a stock, see {@link Terminal}. */
    private static final int LEAST_STOCK = 10;
    private static final int MOST_STOCK = 100;

    private static final String[] TABLES = {
        "CREATE TABLE warehouse (w INT PRIMARY KEY, tax INT, ytd BIGINT)",
        "CREATE TABLE district (w INT, d INT, tax INT, ytd BIGINT, next_order INT, PRIMARY KEY (w, d))",
        "CREATE TABLE customer (w INT, d INT, c INT, name VARCHAR(40), balance BIGINT, ytd BIGINT, payments INT,"
                + " deliveries INT, PRIMARY KEY (w, d, c))",
        "CREATE TABLE item (i INT PRIMARY KEY, name VARCHAR(40), price BIGINT)",
        "CREATE TABLE stock (w INT, i INT, quantity INT, ytd BIGINT, orders INT, info VARCHAR(64),"
                + " PRIMARY KEY (w, i))",
        "CREATE TABLE orders (w INT, d INT, o INT, c INT, lines INT, carrier INT, PRIMARY KEY (w, d, o))",
        "CREATE INDEX orders_of_customer ON orders (w, d, c, o)",
        "CREATE TABLE new_order (w INT, d INT, o INT, PRIMARY KEY (w, d, o))",
        "CREATE TABLE order_line (w INT, d INT, o INT, line INT, i INT, supplier INT, quantity INT, amount BIGINT,"
                + " PRIMARY KEY (w, d, o, line))",
        "CREATE TABLE history (terminal INT, number INT, w INT, d INT, c_w INT, c_d INT, c INT, amount BIGINT,"
                + " PRIMARY KEY (terminal, number))",
    };

    private static final String[] ROWS_IN_ORDER = {
        "SELECT * FROM warehouse ORDER BY w",
        "SELECT * FROM district ORDER BY w, d",
        "SELECT * FROM customer ORDER BY w, d, c",
        "SELECT * FROM item ORDER BY i",
        "SELECT * FROM stock ORDER BY w, i",
        "SELECT * FROM orders ORDER BY w, d, o",
        "SELECT * FROM new_order ORDER BY w, d, o",
        "SELECT * FROM order_line ORDER BY w, d, o, line",
        "SELECT * FROM history ORDER BY terminal, number",
    };

    private OrderDatabase() {}

    /** Create the tables and fill them; the content depends on the seed alone. */
    static void load(Connection connection, long seed) throws SQLException {
        Random random = new Random(seed);
        try (Statement statement = connection.createStatement()) {
            for (String table : TABLES) {
                statement.execute(table);
            }
        }
        connection.setAutoCommit(false);
        loadItems(connection, random);
        for (int w = 1; w <= WAREHOUSES; w++) {
            insert(connection, "INSERT INTO warehouse VALUES (?, ?, 0)", w, random.nextInt(20));
            loadStock(connection, random, w);
            for (int d = 1; d <= DISTRICTS; d++) {
                insert(connection, "INSERT INTO district VALUES (?, ?, ?, 0, 1)", w, d, random.nextInt(20));
                loadCustomers(connection, random, w, d);
            }
        }
        connection.commit();
    }

    private static void loadItems(Connection connection, Random random) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO item VALUES (?, ?, ?)")) {
            for (int i = 1; i <= ITEMS; i++) {
                set(insert, i, "item " + word(random) + word(random), 100L + random.nextInt(9900));
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    private static void loadStock(Connection connection, Random random, int w) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO stock VALUES (?, ?, ?, 0, 0, ?)")) {
            for (int i = 1; i <= ITEMS; i++) {
                int quantity = LEAST_STOCK + random.nextInt(MOST_STOCK - LEAST_STOCK + 1);
                set(insert, w, i, quantity, "shelf " + word(random) + ", box " + word(random) + word(random));
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    private static void loadCustomers(Connection connection, Random random, int w, int d) throws SQLException {
        String sql = "INSERT INTO customer VALUES (?, ?, ?, ?, 0, 0, 0, 0)";
        try (PreparedStatement insert = connection.prepareStatement(sql)) {
            for (int c = 1; c <= CUSTOMERS_PER_DISTRICT; c++) {
                set(insert, w, d, c, word(random) + " " + word(random));
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    /** Check invariants after any number of transactions: all totals of payments agree. */
    static void check(Connection connection) throws SQLException, WrongResultException {
        long paid = number(connection, "SELECT COALESCE(SUM(amount), 0) FROM history");
        for (String table : new String[] {"warehouse", "district", "customer"}) {
            long counted = number(connection, "SELECT SUM(ytd) FROM " + table);
            if (counted != paid) {
                throw new WrongResultException(table + ": payments of " + counted + " counted, " + paid + " made");
            }
        }
        long ordered = number(connection, "SELECT COALESCE(SUM(quantity), 0) FROM order_line");
        long taken = number(connection, "SELECT SUM(ytd) FROM stock");
        if (ordered != taken) {
            throw new WrongResultException("stock: " + taken + " items taken, " + ordered + " ordered");
        }
    }

    /** Feed every row of every table, in key order. */
    static void digest(Connection connection, OutputDigest out) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String query : ROWS_IN_ORDER) {
                out.put(query);
                try (ResultSet rows = statement.executeQuery(query)) {
                    int columns = rows.getMetaData().getColumnCount();
                    while (rows.next()) {
                        for (int column = 1; column <= columns; column++) {
                            out.put(String.valueOf(rows.getString(column)));
                        }
                    }
                }
            }
        }
    }

    static void set(PreparedStatement statement, Object... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            statement.setObject(i + 1, values[i]);
        }
    }

    private static void insert(Connection connection, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            set(statement, values);
            statement.executeUpdate();
        }
    }

    private static long number(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    private static String word(Random random) {
        return Long.toString(random.nextInt(Integer.MAX_VALUE), Character.MAX_RADIX);
    }
}
