package org.regatta.bench.orders;

import java.sql.Connection;
import java.sql.SQLException;

/** What differs between the databases that order entry runs on. */
public interface Engine {
    /** A new connection to the database in memory, which the first one makes. */
    Connection connect() throws SQLException;

    /**
     * Lets go of the database: the next {@code connect} makes an empty one.
     *
     * @param last the only connection that is still open; closed afterwards
     */
    void shutDown(Connection last) throws SQLException;

    /** Whether the database took a transaction back for the sake of another one, so that it may be tried again. */
    boolean mayBeTriedAgain(SQLException failure);
}
