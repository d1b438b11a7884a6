package org.regatta.bench.chat;

import java.util.SplittableRandom;

/**
 * Who sends when, in an open loop: every user independently at exponential intervals, whatever the server does.
 *
 * <p>The union of these streams is one of their summed rate in which each message is of any user alike; so one clock serves all.
 */
final class Schedule {
    private final SplittableRandom random;
    private final int users;
    private final double meanGapNs;
    private double nextNs;
    private int user;

    /**
     * @param users how many send, 1 or more
     * @param rate messages a second of each, above 0
     * @param startNs when it begins
     */
    Schedule(int users, double rate, long seed, long startNs) {
        this.random = new SplittableRandom(seed);
        this.users = users;
        this.meanGapNs = 1e9 / (rate * users);
        this.nextNs = startNs;
        advance();
    }

    /** When the next message is to be sent. */
    long nextNs() {
        return (long) nextNs;
    }

    /** Who sends it, from 0. */
    int user() {
        return user;
    }

    void advance() {
        nextNs += -meanGapNs * Math.log(1 - random.nextDouble());
        user = random.nextInt(users);
    }
}
