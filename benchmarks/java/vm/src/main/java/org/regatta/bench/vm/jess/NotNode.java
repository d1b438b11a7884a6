package org.regatta.bench.vm.jess;

import java.util.ArrayList;
import java.util.List;

/**
 * A condition that no fact may match. Its own store holds a token for each incoming one; such a token has a child in
 * the next store as long as no fact blocks it.
 */
final class NotNode extends MatchNode {
    private final TokenStore held;
    private final TokenStore out;
    private final Counter counter;

    /** @param held holds the incoming tokens; has no successor */
    NotNode(TokenStore held, AlphaMemory right, List<JoinTest> tests, TokenStore out, Counter counter) {
        super(held, right, tests);
        this.held = held;
        this.out = out;
        this.counter = counter;
    }

    @Override
    public void tokenCame(Token parent) {
        Token token = new Token(counter.next(), parent, null, held);
        token.blockers = new ArrayList<>(2);
        held.add(token);
        for (Fact fact : candidates(token)) {
            if (passes(token, fact)) {
                block(token, fact);
            }
        }
        if (token.blockers.isEmpty()) {
            pass(token);
        }
    }

    @Override
    void factCame(Fact fact) {
        for (Token token : candidates(fact)) {
            if (passes(token, fact)) {
                token.deleteChildren();
                block(token, fact);
            }
        }
    }

    /** Notify the tokens blocked by a removed fact; call it when the fact is in no memory. */
    static void release(Fact fact) {
        List<Token> released = new ArrayList<>(fact.blocked);
        fact.blocked.clear();
        for (Token token : released) {
            token.blockers.remove(fact);
            if (token.blockers.isEmpty()) {
                ((HeldStore) token.home).node().pass(token);
            }
        }
    }

    private static void block(Token token, Fact fact) {
        token.blockers.add(fact);
        fact.blocked.add(token);
    }

    private void pass(Token token) {
        out.add(new Token(counter.next(), token, null, out));
    }

    /** The store of a "not"; its tokens refer to it to find their node. */
    static final class HeldStore extends TokenStore {
        private NotNode node;

        void setNode(NotNode node) {
            this.node = node;
        }

        NotNode node() {
            return node;
        }
    }
}
