package org.regatta.bench.vm.jess;

import java.util.List;

/** A condition that a fact must match. */
final class JoinNode extends MatchNode {
    private final TokenStore out;
    private final Counter counter;

    JoinNode(TokenStore left, AlphaMemory right, List<JoinTest> tests, TokenStore out, Counter counter) {
        super(left, right, tests);
        this.out = out;
        this.counter = counter;
    }

    @Override
    public void tokenCame(Token token) {
        for (Fact fact : candidates(token)) {
            if (passes(token, fact)) {
                out.add(new Token(counter.next(), token, fact, out));
            }
        }
    }

    @Override
    void factCame(Fact fact) {
        for (Token token : candidates(fact)) {
            if (passes(token, fact)) {
                out.add(new Token(counter.next(), token, fact, out));
            }
        }
    }
}
