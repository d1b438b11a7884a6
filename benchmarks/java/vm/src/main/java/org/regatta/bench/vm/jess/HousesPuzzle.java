package org.regatta.bench.vm.jess;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.regatta.bench.WrongResultException;

/**
 * The zebra puzzle: each house of a street has one value of each category, and clues state which values go together.
 * The rules remove impossible values until no more follows; the result does not depend on the order.
 */
final class HousesPuzzle implements Puzzle {
    private static final int HOUSES = 6;
    private static final int CATEGORIES = 6;
    private static final int CLUES = 34;
    private static final String RULES = rules();

    /** House of each value of each category, from 1. */
    private final int[][] houses = new int[CATEGORIES][HOUSES];

    private final List<List<Object>> clues = new ArrayList<>();

    HousesPuzzle(Random random) {
        for (int[] category : houses) {
            for (int i = 0; i < HOUSES; i++) {
                int other = random.nextInt(i + 1);
                category[i] = category[other];
                category[other] = i + 1;
            }
        }
        while (clues.size() < CLUES) {
            addClue(random);
        }
    }

    private void addClue(Random random) {
        int category = random.nextInt(CATEGORIES);
        int value = random.nextInt(HOUSES);
        int other = random.nextInt(CATEGORIES);
        int otherValue = random.nextInt(HOUSES);
        int house = houses[category][value];
        int distance = house - houses[other][otherValue];
        if (clues.isEmpty()) {
            clues.add(List.of("at", "c" + category, "v" + value, (long) house));
        } else if (category != other && Math.abs(distance) <= 1) {
            String kind = distance == 0 ? "same" : distance == 1 && random.nextBoolean() ? "right" : "beside";
            clues.add(List.of(kind, "c" + category, "v" + value, "c" + other, "v" + otherValue));
        }
    }

    @Override
    public Engine solve() {
        Engine engine = new Engine(RULES);
        for (long house = 1; house <= HOUSES; house++) {
            engine.assertFact(List.of("around", house - 1, house, house + 1));
        }
        for (int category = 0; category < CATEGORIES; category++) {
            for (int value = 0; value < HOUSES; value++) {
                for (long house = 1; house <= HOUSES; house++) {
                    engine.assertFact(List.of("may", "c" + category, "v" + value, house));
                }
            }
        }
        for (List<Object> clue : clues) {
            engine.assertFact(clue);
        }
        engine.run();
        return engine;
    }

    @Override
    public String solutionKind() {
        return "may";
    }

    /** Iterate over all possibilities until nothing changes. */
    @Override
    public void check(List<List<Object>> solution) throws WrongResultException {
        Set<List<Object>> left = new HashSet<>();
        boolean[][][] may = new boolean[CATEGORIES][HOUSES][HOUSES + 2];
        for (boolean[][] category : may) {
            for (boolean[] value : category) {
                for (int house = 1; house <= HOUSES; house++) {
                    value[house] = true;
                }
            }
        }
        while (takeAway(may)) {
            // one more round
        }
        for (int category = 0; category < CATEGORIES; category++) {
            for (int value = 0; value < HOUSES; value++) {
                for (int house = 1; house <= HOUSES; house++) {
                    if (may[category][value][house]) {
                        left.add(List.of("may", "c" + category, "v" + value, (long) house));
                    }
                }
                if (!may[category][value][houses[category][value]]) {
                    throw new IllegalStateException("the check of a puzzle lost its solution");
                }
            }
        }
        if (!left.equals(new HashSet<>(solution))) {
            throw new WrongResultException("houses puzzle: the rules leave " + solution + ", expected " + left);
        }
    }

    private boolean takeAway(boolean[][][] may) {
        boolean changed = false;
        for (List<Object> clue : clues) {
            boolean[] one = may[index(clue.get(1))][index(clue.get(2))];
            boolean[] other = clue.size() < 5 ? null : may[index(clue.get(3))][index(clue.get(4))];
            for (int house = 1; house <= HOUSES; house++) {
                changed |= one[house] && !possible(clue, house, other);
                one[house] &= possible(clue, house, other);
                changed |= other != null && other[house] && !possibleOfOther(clue, house, one);
                if (other != null) {
                    other[house] &= possibleOfOther(clue, house, one);
                }
            }
        }
        for (boolean[][] category : may) {
            for (int value = 0; value < HOUSES; value++) {
                for (int house = 1; house <= HOUSES; house++) {
                    if (category[value][house] && onlyOne(category, value, house)) {
                        changed |= settle(category, value, house);
                    }
                }
            }
        }
        return changed;
    }

    private static boolean possible(List<Object> clue, int house, boolean[] other) {
        switch ((String) clue.get(0)) {
            case "at":
                return clue.get(3).equals((long) house);
            case "same":
                return other[house];
            case "right":
                return other[house - 1];
            default:
                return other[house - 1] || other[house + 1];
        }
    }

    private static boolean possibleOfOther(List<Object> clue, int house, boolean[] one) {
        return clue.get(0).equals("right") ? one[house + 1] : possible(clue, house, one);
    }

    /** Whether the value has no other house, or the house no other value. */
    private static boolean onlyOne(boolean[][] category, int value, int house) {
        boolean otherHouse = false;
        boolean otherValue = false;
        for (int i = 0; i < HOUSES; i++) {
            otherHouse |= i + 1 != house && category[value][i + 1];
            otherValue |= i != value && category[i][house];
        }
        return !otherHouse || !otherValue;
    }

    private static boolean settle(boolean[][] category, int value, int house) {
        boolean changed = false;
        for (int i = 0; i < HOUSES; i++) {
            changed |= i + 1 != house && category[value][i + 1] || i != value && category[i][house];
            category[value][i + 1] &= i + 1 == house;
            category[i][house] &= i == value;
        }
        return changed;
    }

    private static int index(Object name) {
        return Integer.parseInt(((String) name).substring(1));
    }

    private static String rules() {
        try (InputStream in = HousesPuzzle.class.getResourceAsStream("houses.rules")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
