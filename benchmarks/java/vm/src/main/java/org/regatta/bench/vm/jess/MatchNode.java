package org.regatta.bench.vm.jess;

import java.util.Collection;
import java.util.List;

/** Joins the tokens of a store with the facts of an alpha memory; uses an index to find candidates if possible. */
abstract class MatchNode implements Node {
    private final TokenStore left;
    private final AlphaMemory right;
    private final List<JoinTest> tests;
    private JoinTest indexed;
    private HashIndex<Token> tokenIndex;
    private HashIndex<Fact> factIndex;

    MatchNode(TokenStore left, AlphaMemory right, List<JoinTest> tests) {
        this.left = left;
        this.right = right;
        this.tests = tests;
        for (JoinTest test : tests) {
            if (test.equal() && indexed == null) {
                indexed = test;
                tokenIndex = left.indexOn(test.variable());
                factIndex = right.indexOn(test.field());
            }
        }
    }

    abstract void factCame(Fact fact);

    final Collection<Token> candidates(Fact fact) {
        return indexed == null ? left.tokens() : tokenIndex.with(fact.value(indexed.field()));
    }

    final Collection<Fact> candidates(Token token) {
        return indexed == null ? right.facts() : factIndex.with(indexed.variable().in(token));
    }

    final boolean passes(Token token, Fact fact) {
        for (JoinTest test : tests) {
            if (test != indexed && !test.passes(token, fact)) {
                return false;
            }
        }
        return true;
    }
}
