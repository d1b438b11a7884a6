package org.regatta.bench.antlr;

import java.util.Random;

/** A text drawn from a grammar, token by token. */
final class Sentence {
    /** Depth of nested rules from which only the shortest alternatives are used. */
    private static final int DEPTH = 7;

    private static final int TOKENS_PER_LINE = 12;

    private final Random random;
    private final StringBuilder text = new StringBuilder();
    private int depth;
    private int tokens;

    Sentence(Random random) {
        this.random = random;
    }

    Random random() {
        return random;
    }

    boolean isDeep() {
        return depth >= DEPTH;
    }

    void enter() {
        depth++;
    }

    void leave() {
        depth--;
    }

    void add(String token) {
        tokens++;
        text.append(token).append(tokens % TOKENS_PER_LINE == 0 ? '\n' : ' ');
        if (random.nextInt(100) == 0) {
            text.append("/* after ").append(tokens).append(" tokens */\n");
        }
    }

    /** @return number of characters so far */
    int length() {
        return text.length();
    }

    String text() {
        return text.toString();
    }
}
