package org.regatta.bench.vm.jess;

import java.util.List;
import org.regatta.bench.WrongResultException;

/** Something that rules can solve, and that can be solved without them. */
interface Puzzle {
    /** Rules and facts in an engine that has come to its end. */
    Engine solve();

    /** The kind of the facts that are the solution. */
    String solutionKind();

    /**
     * Solves it again by other means.
     *
     * @param solution facts
     * @throws WrongResultException if it is another one
     */
    void check(List<List<Object>> solution) throws WrongResultException;
}
