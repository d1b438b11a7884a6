package org.regatta.bench.chat;

import java.io.IOException;
import java.net.InetSocketAddress;

/** A way to serve many connections. */
interface ChatMode {
    /** How many connections may wait for being accepted, where the system allows as many. */
    int BACKLOG = 4096;

    /** How many messages may wait for one user before those who send to it must wait. */
    int QUEUE_MESSAGES = 256;

    /** At most so many bytes go to one user in one write, in every mode. */
    int BATCH_BYTES = 4096;

    /**
     * Binds and begins to serve, by threads of its own.
     *
     * @param patienceNs how long senders wait for a user that does not read, before that user is cut off, in ns
     * @return the port
     */
    int open(InetSocketAddress address, Tally tally, long patienceNs) throws IOException;
}
