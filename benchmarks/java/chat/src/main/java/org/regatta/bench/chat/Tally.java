package org.regatta.bench.chat;

import java.util.concurrent.atomic.LongAdder;

/** Counters of the server since its start. */
final class Tally {
    /** Messages received from users. */
    final LongAdder received = new LongAdder();

    /** Messages written to users, one per receiver. */
    final LongAdder delivered = new LongAdder();

    /** Connections closed because of a protocol violation. */
    final LongAdder rejected = new LongAdder();

    /** Connections closed because their users did not read. */
    final LongAdder tooSlow = new LongAdder();

    /** Count and report a connection that is closed because its user did not read. */
    void cutOff(int room, int user, long afterNs) {
        tooSlow.increment();
        System.err.println("ChatServer: user " + user + " of room " + room + " is disconnected: others waited for it for "
                + afterNs / 1_000_000 + " ms");
    }

    /** Connections accepted. */
    final LongAdder accepted = new LongAdder();
}
