package org.regatta.bench.vm.jess;

import java.util.List;
import org.regatta.bench.WrongResultException;

/** A puzzle that can be solved with and without rules. */
interface Puzzle {
    /** Rules and facts in an engine that has finished. */
    Engine solve();

    /** The kind of the facts that are the solution. */
    String solutionKind();

    /**
     * Solve it again by other means.
     *
     * @param solution facts
     * @throws WrongResultException if the solution differs
     */
    void check(List<List<Object>> solution) throws WrongResultException;
}
