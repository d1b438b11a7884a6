package org.regatta.bench.vm.jess;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The actions of a rule, and its priority. */
final class Rule {
    private final String name;
    private final long salience;
    private final List<Integer> retracted = new ArrayList<>();
    private final List<List<Expression>> asserted = new ArrayList<>();

    Rule(String name, long salience) {
        this.name = name;
        this.salience = salience;
    }

    /** Rules with a higher value fire first. */
    long salience() {
        return salience;
    }

    /** @param action {@code (retract N)}, N from 1: the fact that a condition matched; or {@code (assert (...))} */
    void addAction(List<?> action, Map<String, Variable> known) {
        if (action.get(0).equals("retract")) {
            retracted.add(((Long) action.get(1)).intValue());
        } else if (action.get(0).equals("assert")) {
            List<Expression> values = new ArrayList<>();
            for (Object term : (List<?>) action.get(1)) {
                values.add(Expression.of(term, known));
            }
            asserted.add(values);
        } else {
            throw new IllegalArgumentException("rule " + name + ": unknown action " + action.get(0));
        }
    }

    void fire(Engine engine, Token match) {
        List<List<Object>> facts = new ArrayList<>();
        for (List<Expression> expressions : asserted) {
            List<Object> values = new ArrayList<>(expressions.size());
            for (Expression expression : expressions) {
                values.add(expression.value(match));
            }
            facts.add(values);
        }
        for (int depth : retracted) {
            engine.retract(match.factAt(depth));
        }
        for (List<Object> values : facts) {
            engine.assertFact(values);
        }
    }
}
