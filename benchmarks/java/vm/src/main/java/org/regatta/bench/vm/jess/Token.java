package org.regatta.bench.vm.jess;

import java.util.List;

/**
 * A partial match of the conditions of a rule: the previous match and the fact that extends it. A token without a fact
 * represents a condition without a fact: a test, or a "not".
 */
final class Token {
    private final int number;
    final Token parent;
    final Fact fact;

    /** Number of facts so far. */
    final int depth;

    final TokenStore home;

    /** Facts that a "not" must not find; null if the token is no "not". */
    List<Fact> blockers;

    /** Longer matches that begin with this one: a list through {@code next} and {@code previous}. */
    private Token firstChild;

    private Token next;
    private Token previous;

    /** @param number number of earlier tokens */
    Token(int number, Token parent, Fact fact, TokenStore home) {
        this.number = number;
        this.parent = parent;
        this.fact = fact;
        this.home = home;
        depth = (parent == null ? 0 : parent.depth) + (fact == null ? 0 : 1);
        if (parent != null) {
            next = parent.firstChild;
            if (next != null) {
                next.previous = this;
            }
            parent.firstChild = this;
        }
        if (fact != null) {
            fact.tokens.add(this);
        }
    }

    /** @param at number of the fact, from 1 */
    Fact factAt(int at) {
        Token token = this;
        while (token.depth > at || token.fact == null) {
            token = token.parent;
        }
        return token.fact;
    }

    /** Remove it from all structures that refer to it, together with all extensions. */
    void delete() {
        deleteChildren();
        home.remove(this);
        if (fact != null) {
            fact.tokens.remove(this);
        }
        if (blockers != null) {
            for (Fact blocker : blockers) {
                blocker.blocked.remove(this);
            }
        }
        if (previous == null) {
            parent.firstChild = next;
        } else {
            previous.next = next;
        }
        if (next != null) {
            next.previous = previous;
        }
    }

    void deleteChildren() {
        while (firstChild != null) {
            firstChild.delete();
        }
    }

    /** Not by identity: the same on every JVM. */
    @Override
    public int hashCode() {
        return number;
    }

    @Override
    public boolean equals(Object other) {
        return this == other;
    }
}
