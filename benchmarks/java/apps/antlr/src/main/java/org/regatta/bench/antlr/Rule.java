package org.regatta.bench.antlr;

import java.util.ArrayList;
import java.util.List;

/** A rule of a random grammar: its alternatives, in order. */
final class Rule {
    private final String name;
    private final List<Pattern> alternatives = new ArrayList<>();

    Rule(String name) {
        this.name = name;
    }

    String name() {
        return name;
    }

    /** If the rule can reach itself, the first alternative must contain no rule. */
    Rule or(Pattern alternative) {
        alternatives.add(alternative);
        return this;
    }

    void print(StringBuilder grammar) {
        grammar.append(name).append('\n');
        char separator = ':';
        for (Pattern alternative : alternatives) {
            grammar.append("    ").append(separator).append(' ');
            alternative.print(grammar);
            grammar.append('\n');
            separator = '|';
        }
        grammar.append("    ;\n\n");
    }

    /** Draw a text that the rule matches; at a large depth from the first alternative. */
    void draw(Sentence sentence) {
        int chosen = sentence.isDeep() ? 0 : sentence.random().nextInt(alternatives.size());
        alternatives.get(chosen).draw(sentence);
    }
}
