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

    /** Connections accepted. */
    final LongAdder accepted = new LongAdder();
}
