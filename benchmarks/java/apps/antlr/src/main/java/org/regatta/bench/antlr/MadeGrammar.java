package org.regatta.bench.antlr;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A random grammar, and a text in its language: statements with keywords, sub-rules that differ only after some tokens,
 * and expressions with their own operators.
 */
final class MadeGrammar {
    private static final int STATEMENTS = 14;
    private static final int CLAUSES = 12;
    private static final int LETTERS = 26;
    private static final String[] OPERATORS = {
        "*", "/", "%", "+", "-", "<<", ">>", "<", ">", "<=", "&", "^", "|", "~>", "=>"
    };
    private static final String LEXER_RULES = "NAME : [A-Z_] [A-Z_0-9]* ;\n"
            + "NUMBER : [0-9]+ ('.' [0-9]+)? ;\n"
            + "COMMENT : '/*' .*? '*/' -> channel(HIDDEN) ;\n"
            + "LINE_COMMENT : '//' ~[\\r\\n]* -> skip ;\n"
            + "SPACE : [ \\t\\r\\n]+ -> skip ;\n";

    private final Random random;
    private final String name;
    private final Rule expression = new Rule("expression");
    private final Rule statement = new Rule("statement");
    private final List<Rule> clauses = new ArrayList<>();
    private final List<Rule> statements = new ArrayList<>();
    private int words;

    /** @param name of the grammar; begins with a capital letter */
    MadeGrammar(Random random, String name) {
        this.random = random;
        this.name = name;
        makeExpression();
        makeClauses();
        makeStatements();
    }

    String name() {
        return name;
    }

    /** @return the grammar for ANTLR; the rule {@code program} matches a whole text */
    String grammar() {
        StringBuilder grammar = new StringBuilder("grammar " + name + ";\n\nprogram : statement* EOF ;\n\n");
        statement.print(grammar);
        statements.forEach(rule -> rule.print(grammar));
        clauses.forEach(rule -> rule.print(grammar));
        expression.print(grammar);
        return grammar.append(LEXER_RULES).toString();
    }

    /** Draw a text that {@code program} matches; a second call draws another. */
    String text(int atLeastCharacters) {
        Sentence sentence = new Sentence(random);
        while (sentence.length() < atLeastCharacters) {
            statement.draw(sentence);
        }
        return sentence.text();
    }

    /** Operators in a random order of precedence, including prefix and postfix ones. */
    private void makeExpression() {
        Pattern self = Pattern.reference(expression);
        expression.or(Pattern.name())
                .or(Pattern.number())
                .or(sequence(Pattern.word("("), self, Pattern.word(")")))
                .or(sequence(self, Pattern.word("."), Pattern.name()))
                .or(sequence(self, Pattern.word("["), self, Pattern.word("]")))
                .or(sequence(Pattern.word("!"), self));
        int first = random.nextInt(OPERATORS.length);
        int count = 5 + random.nextInt(OPERATORS.length - 5);
        for (int i = 0; i < count; i++) {
            String operator = OPERATORS[(first + i) % OPERATORS.length];
            expression.or(sequence(self, Pattern.word(operator), self));
        }
        expression.or(sequence(self, Pattern.word("?"), self, Pattern.word(":"), self));
    }

    /** Each uses only earlier ones: a clause reaches itself only through a statement in a block. */
    private void makeClauses() {
        for (int i = 0; i < CLAUSES; i++) {
            Rule clause = new Rule("clause" + i).or(sequence(newWord(), Pattern.name()));
            for (int alternatives = 1 + random.nextInt(4); alternatives > 0; alternatives--) {
                clause.or(parts(3));
            }
            clauses.add(clause);
        }
    }

    private void makeStatements() {
        statement.or(sequence(Pattern.name(), Pattern.word(":="), Pattern.reference(expression), Pattern.word(";")));
        for (int i = 0; i < STATEMENTS; i++) {
            // Some begin with the same word as the previous one, so that one token does not distinguish them.
            Pattern begin = random.nextInt(3) == 0 ? Pattern.word("begin") : newWord();
            Rule rule = new Rule("statement" + i).or(sequence(begin, parts(4), Pattern.word(";")));
            statements.add(rule);
            statement.or(Pattern.reference(rule));
        }
    }

    /** A sequence of parts, the first of which is never empty. */
    private Pattern parts(int most) {
        List<Pattern> parts = new ArrayList<>();
        parts.add(random.nextInt(3) == 0 ? Pattern.name() : newWord());
        for (int i = 1 + random.nextInt(most); i > 0; i--) {
            parts.add(part());
        }
        return Pattern.sequence(parts);
    }

    private Pattern part() {
        Pattern value = Pattern.reference(expression);
        switch (random.nextInt(8)) {
            case 0:
                return newWord();
            case 1:
                return Pattern.name();
            case 2:
                return Pattern.repeated(sequence(newWord(), value), 1);
            case 3:
                Pattern more = Pattern.repeated(sequence(Pattern.word(","), value), 4);
                return sequence(Pattern.word("("), value, more, Pattern.word(")"));
            case 4:
                Pattern block = Pattern.repeated(Pattern.reference(statement), 3);
                return sequence(Pattern.word("{"), block, Pattern.word("}"));
            case 5:
                // They differ only after an expression of arbitrary length.
                return Pattern.choice(List.of(sequence(value, newWord()), sequence(value, newWord(), Pattern.name())));
            case 6:
                return clauses.isEmpty() ? value : Pattern.reference(clauses.get(random.nextInt(clauses.size())));
            default:
                return Pattern.repeated(sequence(newWord(), Pattern.number()), 3);
        }
    }

    /** A new keyword of the grammar, in lower case. */
    private Pattern newWord() {
        StringBuilder word = new StringBuilder("k");
        for (int rest = words++; rest >= 0; rest = rest / LETTERS - 1) {
            word.append((char) ('a' + rest % LETTERS));
        }
        for (int i = random.nextInt(6); i > 0; i--) {
            word.append('_').append((char) ('a' + random.nextInt(LETTERS)));
        }
        return Pattern.word(word.toString());
    }

    private static Pattern sequence(Pattern... parts) {
        return Pattern.sequence(List.of(parts));
    }
}
