package org.regatta.bench.vm.jess;

/** Assigns numbers, from 0. */
final class Counter {
    private int next;

    int next() {
        return next++;
    }

    int count() {
        return next;
    }
}
