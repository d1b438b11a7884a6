package org.regatta.bench.vm.jess;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;

/** Complete matches that have not fired; the most urgent one is next, and of equally urgent ones the newest. */
final class Agenda {
    /** A rule with a match. */
    static final class Activation {
        private final int number;
        final Rule rule;
        final Token match;

        Activation(int number, Rule rule, Token match) {
            this.number = number;
            this.rule = rule;
            this.match = match;
        }

        private long salience() {
            return rule.salience();
        }

        private int number() {
            return number;
        }
    }

    private final TreeSet<Activation> waiting = new TreeSet<>(Comparator.comparingLong(Activation::salience)
            .thenComparingInt(Activation::number)
            .reversed());
    private final Map<Token, Activation> byMatch = new HashMap<>();
    private final Counter counter = new Counter();

    void add(Rule rule, Token match) {
        Activation activation = new Activation(counter.next(), rule, match);
        waiting.add(activation);
        byMatch.put(match, activation);
    }

    /** Remove a match that no longer holds; no effect if it has fired. */
    void remove(Token match) {
        Activation activation = byMatch.remove(match);
        if (activation != null) {
            waiting.remove(activation);
        }
    }

    /** @return null: no match is left */
    Activation next() {
        Activation activation = waiting.pollFirst();
        if (activation != null) {
            byMatch.remove(activation.match);
        }
        return activation;
    }
}
