package org.regatta.bench.vm.jess;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.regatta.bench.WrongResultException;

/**
 * A puzzle where the sum of two words is a third: each letter stands for a different digit, and no word begins with 0.
 */
final class LettersPuzzle implements Puzzle {
    private static final int LEAST_LETTERS = 7;
    private static final int MOST_LETTERS = 8;
    private static final int BASE = 10;

    /** Each letter is a number; the last position of a word comes first. */
    private final int[][] words = new int[3][];

    private final int letters;

    /** One rule that tries the columns from the right. */
    private final String rule;

    LettersPuzzle(Random random) {
        int[] letterOf = new int[BASE];
        int count;
        do {
            int one = 1000 + random.nextInt(9000);
            int other = 1000 + random.nextInt(9000);
            Arrays.fill(letterOf, -1);
            count = 0;
            int[] numbers = {one, other, one + other};
            for (int i = 0; i < numbers.length; i++) {
                String digits = new StringBuilder(String.valueOf(numbers[i])).reverse().toString();
                words[i] = new int[digits.length()];
                for (int place = 0; place < digits.length(); place++) {
                    int digit = digits.charAt(place) - '0';
                    if (letterOf[digit] < 0) {
                        letterOf[digit] = count++;
                    }
                    words[i][place] = letterOf[digit];
                }
            }
        } while (count < LEAST_LETTERS || count > MOST_LETTERS);
        letters = count;
        rule = writeRule();
    }

    private String writeRule() {
        StringBuilder text = new StringBuilder("(rule columns\n  (carry ?k0) (test (= ?k0 0))\n");
        List<String> known = new ArrayList<>();
        for (int column = 0; column < words[2].length; column++) {
            StringBuilder sum = new StringBuilder("(+ ?k" + column);
            for (int word = 0; word < words.length; word++) {
                if (column < words[word].length) {
                    String name = "?l" + words[word][column];
                    bind(name, text, known);
                    sum.append(word < 2 ? " " + name : ")");
                    if (column == words[word].length - 1) {
                        text.append("  (test (different ").append(name).append(" 0))\n");
                    }
                }
            }
            String result = "?l" + words[2][column];
            if (column < words[2].length - 1) {
                text.append("  (carry ?k" + (column + 1) + ")\n");
                result = "(+ " + result + " (* 10 ?k" + (column + 1) + "))";
            }
            text.append("  (test (= ").append(sum).append(' ').append(result).append("))\n");
        }
        text.append("  => (assert (solution");
        for (int letter = 0; letter < letters; letter++) {
            text.append(" ?l").append(letter);
        }
        return text.append(")))\n").toString();
    }

    private static void bind(String name, StringBuilder text, List<String> known) {
        if (!known.contains(name)) {
            text.append("  (digit ").append(name).append(") (test (different ").append(name);
            known.forEach(other -> text.append(' ').append(other));
            text.append("))\n");
            known.add(name);
        }
    }

    @Override
    public Engine solve() {
        Engine engine = new Engine(rule);
        engine.assertFact(List.of("carry", 0L));
        engine.assertFact(List.of("carry", 1L));
        for (long digit = 0; digit < BASE; digit++) {
            engine.assertFact(List.of("digit", digit));
        }
        engine.run();
        return engine;
    }

    @Override
    public String solutionKind() {
        return "solution";
    }

    /** Try all digits for all letters, without columns: the weight of each letter in the sum is one number. */
    @Override
    public void check(List<List<Object>> solution) throws WrongResultException {
        long[] worth = new long[letters];
        boolean[] first = new boolean[letters];
        for (int word = 0; word < words.length; word++) {
            long place = word < 2 ? 1 : -1;
            for (int letter : words[word]) {
                worth[letter] += place;
                place *= BASE;
            }
            first[words[word][words[word].length - 1]] = true;
        }
        Set<List<Object>> expected = new HashSet<>();
        search(worth, first, new Object[letters + 1], 0, 0, 0, expected);
        if (expected.isEmpty()) {
            throw new IllegalStateException("the check of a puzzle lost its solution");
        }
        if (!expected.equals(new HashSet<>(solution))) {
            throw new WrongResultException("letters puzzle: the rules find " + solution + ", expected "
                    + expected);
        }
    }

    private void search(
            long[] worth, boolean[] first, Object[] digits, int letter, long sum, int used, Set<List<Object>> found) {
        if (letter == letters) {
            if (sum == 0) {
                digits[0] = "solution";
                List<Object> solution = new ArrayList<>();
                Collections.addAll(solution, digits);
                found.add(solution);
            }
            return;
        }
        for (int digit = first[letter] ? 1 : 0; digit < BASE; digit++) {
            if ((used >> digit & 1) == 0) {
                digits[letter + 1] = (long) digit;
                search(worth, first, digits, letter + 1, sum + worth[letter] * digit, used | 1 << digit, found);
            }
        }
    }
}
