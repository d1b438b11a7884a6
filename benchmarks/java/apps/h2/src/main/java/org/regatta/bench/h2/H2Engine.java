package org.regatta.bench.h2;

import java.sql.Connection;
import java.sql.SQLException;
import org.h2.api.ErrorCode;
import org.h2.jdbcx.JdbcDataSource;
import org.regatta.bench.orders.Engine;

/** H2 in memory: the database disappears when its last connection is closed. It is in this JVM, or in that of a server. */
final class H2Engine implements Engine {
    /** JVM flag: {@code host:port} of an {@code org.h2.tools.Server} whose database is used. */
    private static final String SERVER = "regatta.h2.server";

    /** SQLSTATE class of transactions that were rolled back and may be retried. */
    private static final String ROLLED_BACK = "40";

    private final JdbcDataSource source = new JdbcDataSource();

    H2Engine() {
        String server = System.getProperty(SERVER);
        String place = server == null ? "mem:orders" : "tcp://" + server + "/mem:orders";
        source.setURL("jdbc:h2:" + place + ";LOCK_TIMEOUT=60000;TRACE_LEVEL_SYSTEM_OUT=0");
    }

    @Override
    public Connection connect() throws SQLException {
        return source.getConnection();
    }

    @Override
    public void shutDown(Connection last) {}

    @Override
    public boolean mayBeTriedAgain(SQLException failure) {
        // the first: a row changed between read and lock
        return failure.getErrorCode() == ErrorCode.CONCURRENT_UPDATE_1
                || failure.getSQLState() != null && failure.getSQLState().startsWith(ROLLED_BACK);
    }
}
