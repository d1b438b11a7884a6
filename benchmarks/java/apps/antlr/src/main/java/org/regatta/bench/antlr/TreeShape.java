package org.regatta.bench.antlr;

import org.antlr.v4.runtime.ParserRuleContext;
import org.antlr.v4.runtime.tree.ErrorNode;
import org.antlr.v4.runtime.tree.ParseTreeListener;
import org.antlr.v4.runtime.tree.TerminalNode;
import org.regatta.bench.OutputDigest;

/** The contents of a parse tree: counts of each rule and each kind of token, and a hash of their order and depth. */
final class TreeShape implements ParseTreeListener {
    private final long[] rules;
    private final long[] tokens;
    private long hash = 1;
    private int depth;

    /**
     * @param rules number of rules in the grammar
     * @param maxTokenType the largest type of a token
     */
    TreeShape(int rules, int maxTokenType) {
        this.rules = new long[rules];
        this.tokens = new long[maxTokenType + 1];
    }

    @Override
    public void enterEveryRule(ParserRuleContext rule) {
        rules[rule.getRuleIndex()]++;
        depth++;
        mix(rule.getRuleIndex());
    }

    @Override
    public void exitEveryRule(ParserRuleContext rule) {
        depth--;
    }

    @Override
    public void visitTerminal(TerminalNode node) {
        // The end of the text has type -1, and is counted as type 0, which no token has.
        tokens[Math.max(0, node.getSymbol().getType())]++;
        mix(node.getSymbol().getType());
    }

    @Override
    public void visitErrorNode(ErrorNode node) {
        throw new IllegalStateException("a text of the grammar's language has an error at " + node.getSymbol());
    }

    /** @return number of tokens, including the end of the text */
    long tokens() {
        long sum = 0;
        for (long count : tokens) {
            sum += count;
        }
        return sum;
    }

    void digest(OutputDigest out) {
        for (long count : rules) {
            out.put(count);
        }
        for (long count : tokens) {
            out.put(count);
        }
        out.put(hash);
    }

    private void mix(int what) {
        hash = (hash * 31 + what) * 31 + depth;
    }
}
