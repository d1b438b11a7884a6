package org.regatta.bench.antlr;

import java.util.List;
import java.util.Locale;
import java.util.Random;

/** A piece of a grammar's right-hand side, which can be written down and from which sentences can be drawn. */
interface Pattern {
    /** Writes it as ANTLR reads it. */
    void print(StringBuilder grammar);

    /** Draws a piece of text that it matches. */
    void draw(Sentence sentence);

    /** The text of a token that is always the same. */
    static Pattern word(String text) {
        return new Pattern() {
            @Override
            public void print(StringBuilder grammar) {
                grammar.append('\'').append(text).append('\'');
            }

            @Override
            public void draw(Sentence sentence) {
                sentence.add(text);
            }
        };
    }

    /** Another rule of the grammar. */
    static Pattern reference(Rule rule) {
        return new Pattern() {
            @Override
            public void print(StringBuilder grammar) {
                grammar.append(rule.name());
            }

            @Override
            public void draw(Sentence sentence) {
                sentence.enter();
                rule.draw(sentence);
                sentence.leave();
            }
        };
    }

    static Pattern sequence(List<Pattern> parts) {
        return new Pattern() {
            @Override
            public void print(StringBuilder grammar) {
                String separator = "";
                for (Pattern part : parts) {
                    grammar.append(separator);
                    part.print(grammar);
                    separator = " ";
                }
            }

            @Override
            public void draw(Sentence sentence) {
                parts.forEach(part -> part.draw(sentence));
            }
        };
    }

    static Pattern choice(List<Pattern> alternatives) {
        return new Pattern() {
            @Override
            public void print(StringBuilder grammar) {
                String separator = "(";
                for (Pattern alternative : alternatives) {
                    grammar.append(separator);
                    alternative.print(grammar);
                    separator = " | ";
                }
                grammar.append(')');
            }

            @Override
            public void draw(Sentence sentence) {
                alternatives.get(sentence.random().nextInt(alternatives.size())).draw(sentence);
            }
        };
    }

    /**
     * None or more, or none or one.
     *
     * @param most how many are drawn at most; 1 makes it optional
     */
    static Pattern repeated(Pattern part, int most) {
        return new Pattern() {
            @Override
            public void print(StringBuilder grammar) {
                grammar.append('(');
                part.print(grammar);
                grammar.append(')').append(most == 1 ? '?' : '*');
            }

            @Override
            public void draw(Sentence sentence) {
                // Deep down nothing is repeated, so that every sentence ends.
                int times = sentence.isDeep() ? 0 : sentence.random().nextInt(most + 1);
                for (int i = 0; i < times; i++) {
                    part.draw(sentence);
                }
            }
        };
    }

    /** A token whose text is made up. */
    static Pattern name() {
        return new Pattern() {
            @Override
            public void print(StringBuilder grammar) {
                grammar.append("NAME");
            }

            @Override
            public void draw(Sentence sentence) {
                Random random = sentence.random();
                // Capital letters: never a key word of the grammar, all of which are of small letters.
                String digits = Integer.toString(random.nextInt(100_000), Character.MAX_RADIX);
                sentence.add("N" + digits.toUpperCase(Locale.ROOT));
            }
        };
    }

    static Pattern number() {
        return new Pattern() {
            @Override
            public void print(StringBuilder grammar) {
                grammar.append("NUMBER");
            }

            @Override
            public void draw(Sentence sentence) {
                Random random = sentence.random();
                sentence.add(random.nextInt(3) == 0
                        ? random.nextInt(1000) + "." + random.nextInt(1000)
                        : String.valueOf(random.nextInt(1_000_000)));
            }
        };
    }
}
