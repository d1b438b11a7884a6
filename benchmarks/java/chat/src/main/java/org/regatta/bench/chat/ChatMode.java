package org.regatta.bench.chat;

import java.io.IOException;
import java.net.InetSocketAddress;

/** A method to serve many connections. */
interface ChatMode {
    /** Length of the listen queue, if the system allows it. */
    int BACKLOG = 4096;

    /** Maximum number of messages queued for one user before senders must wait. */
    int QUEUE_MESSAGES = 256;

    /** Maximum number of bytes per write to one user, in every mode. */
    int BATCH_BYTES = 4096;

    /**
     * Bind and start to serve, on separate threads.
     *
     * @param patienceNs time that senders wait for a user that does not read, before it is disconnected, in ns
     * @return the port
     */
    int open(InetSocketAddress address, Tally tally, long patienceNs) throws IOException;
}
