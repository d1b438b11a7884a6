package org.regatta.bench.vm.jess;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;

/**
 * A forward-chaining rule engine (a Rete network with an agenda) solves seeded puzzles, with a new engine for each. The
 * output is the solutions, and the numbers of fired rules and partial matches.
 *
 * <p>Stresses: linked small objects in hash tables and lists that are constantly created and unlinked and live for a
 * puzzle; boxed numbers, and calls through interfaces and lambdas.
 */
public final class JessBenchmark implements Benchmark {
    public static final int MAX_SIZE = 1000;
    private static final int PUZZLES_PER_SIZE = 2;
    /** One of this number of puzzles is of letters; the others are of houses. */
    private static final int LETTERS_EVERY = 2;

    private final List<Puzzle> puzzles = new ArrayList<>();
    private List<List<List<Object>>> solutions;
    private List<Long> costs;
    private boolean checked;

    @Override
    public void setup(int size, long seed) {
        Random random = new Random(seed);
        for (int i = 0; i < size * PUZZLES_PER_SIZE; i++) {
            puzzles.add(i % LETTERS_EVERY == 0 ? new LettersPuzzle(random) : new HousesPuzzle(random));
        }
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        solutions = new ArrayList<>();
        costs = new ArrayList<>();
    }

    @Override
    public long iterate(int iteration) {
        long sum = 0;
        for (Puzzle puzzle : puzzles) {
            Engine engine = puzzle.solve();
            solutions.add(engine.factsOf(puzzle.solutionKind()));
            costs.add((long) engine.firings());
            costs.add((long) engine.tokens());
            sum = 31 * sum + engine.tokens();
        }
        return sum;
    }

    @Override
    public void digest(OutputDigest out) throws WrongResultException {
        for (int i = 0; i < puzzles.size(); i++) {
            // Other iterations are compared by digest: solving without rules is slow.
            if (!checked) {
                puzzles.get(i).check(solutions.get(i));
            }
            out.put(solutions.get(i).size());
            for (List<Object> fact : solutions.get(i)) {
                out.put(fact.toString());
            }
        }
        checked = true;
        for (long cost : costs) {
            out.put(cost);
        }
    }
}
