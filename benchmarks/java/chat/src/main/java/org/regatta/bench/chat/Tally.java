package org.regatta.bench.chat;

import java.util.concurrent.atomic.LongAdder;

/** What the server counts, from its start on. */
final class Tally {
    /** Messages that came from users. */
    final LongAdder received = new LongAdder();

    /** Messages that were written to users, one for each that hears. */
    final LongAdder delivered = new LongAdder();

    /** Connections closed because of bytes that are not the protocol's. */
    final LongAdder rejected = new LongAdder();

    /** Connections closed because their users did not read. */
    final LongAdder tooSlow = new LongAdder();

    /** Counts a connection that is closed because its user did not read, and says so. */
    void cutOff(int room, int user, long afterNs) {
        tooSlow.increment();
        System.err.println("ChatServer: user " + user + " of room " + room + " is cut off: others waited for it for "
                + afterNs / 1_000_000 + " ms");
    }

    /** Connections accepted. */
    final LongAdder accepted = new LongAdder();
}
