package org.regatta.bench.chat;

import java.util.SplittableRandom;

/**
 * The send schedule of an open loop: every user sends independently at exponential intervals, regardless of the server.
 *
 * <p>The union of these streams is one stream with the sum of the rates in which each user is equally likely, so that one clock
 * suffices.
 */
final class Schedule {
    private final SplittableRandom random;
    private final int users;
    private final double meanGapNs;
    private double nextNs;
    private int user;

    /**
     * @param users number of senders, 1 or more
     * @param rate messages per second and user, above 0
     * @param startNs start of the schedule
     */
    Schedule(int users, double rate, long seed, long startNs) {
        this.random = new SplittableRandom(seed);
        this.users = users;
        this.meanGapNs = 1e9 / (rate * users);
        this.nextNs = startNs;
        advance();
    }

    /** Planned time of the next message. */
    long nextNs() {
        return (long) nextNs;
    }

    /** Sender of the next message, from 0. */
    int user() {
        return user;
    }

    void advance() {
        nextNs += -meanGapNs * Math.log(1 - random.nextDouble());
        user = random.nextInt(users);
    }
}
