package org.regatta.bench.antlr;

import java.util.List;
import java.util.Locale;
import java.util.Random;

/** A part of the right-hand side of a grammar, which can be written and from which sentences can be drawn. */
interface Pattern {
    /** Write it in the syntax of ANTLR. */
    void print(StringBuilder grammar);

    /** Draw a text that it matches. */
    void draw(Sentence sentence);

    /** A token with fixed text. */
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
     * Zero or more, or zero or one.
     *
     * @param most maximum number to draw; 1 makes it optional
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
                // At a large depth nothing is repeated, so that every sentence ends.
                int times = sentence.isDeep() ? 0 : sentence.random().nextInt(most + 1);
                for (int i = 0; i < times; i++) {
                    part.draw(sentence);
                }
            }
        };
    }

    /** A token with random text. */
    static Pattern name() {
        return new Pattern() {
            @Override
            public void print(StringBuilder grammar) {
                grammar.append("NAME");
            }

            @Override
            public void draw(Sentence sentence) {
                Random random = sentence.random();
                // Capital letters: never a keyword of the grammar, all of which are lower case.
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
