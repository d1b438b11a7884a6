package org.regatta.bench.orders;

import java.sql.Connection;
import java.sql.SQLException;

/** The differences between the databases of the order-entry benchmark. */
public interface Engine {
    /** A new connection to the database in memory; the first one creates it. */
    Connection connect() throws SQLException;

    /**
     * Drop the database: the next {@code connect} creates an empty one.
     *
     * @param last the only open connection; closed afterwards
     */
    void shutDown(Connection last) throws SQLException;

    /** Whether the database rolled back a transaction because of a conflict, so that it may be retried. */
    boolean mayBeTriedAgain(SQLException failure);
}
