package org.regatta.bench.hsqldb;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.hsqldb.jdbc.JDBCDataSource;
import org.regatta.bench.orders.Engine;

/** HSQLDB in memory, with row versions instead of table locks: it persists until it is shut down. */
final class HsqldbEngine implements Engine {
    /** SQLSTATE class of transactions that were rolled back and may be retried. */
    private static final String ROLLED_BACK = "40";

    private final JDBCDataSource source = new JDBCDataSource();

    HsqldbEngine() {
        source.setURL("jdbc:hsqldb:mem:orders;hsqldb.tx=mvcc");
        source.setUser("SA");
    }

    @Override
    public Connection connect() throws SQLException {
        return source.getConnection();
    }

    @Override
    public void shutDown(Connection last) throws SQLException {
        try (Statement statement = last.createStatement()) {
            statement.execute("SHUTDOWN IMMEDIATELY");
        }
    }

    @Override
    public boolean mayBeTriedAgain(SQLException failure) {
        return failure.getSQLState() != null && failure.getSQLState().startsWith(ROLLED_BACK);
    }
}
