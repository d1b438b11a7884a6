package org.regatta.bench.vm.jess;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The conditions on a fact: alone, and together with the facts of earlier conditions. */
final class Pattern {
    /** A value that a field must or must not have. */
    private static final class Constant {
        private final int field;
        private final Object value;
        private final boolean equal;

        Constant(int field, Object value, boolean equal) {
            this.field = field;
            this.value = value;
            this.equal = equal;
        }
    }

    private final int fields;
    private final List<Constant> constants = new ArrayList<>();

    /** Pairs of fields in this fact that must be equal. */
    private final List<int[]> pairs = new ArrayList<>();

    private final List<JoinTest> joins = new ArrayList<>();

    /**
     * @param terms a list: strings, longs, {@code ?} for any value, {@code ?name} for a variable; {@code ~} before a
     *     string or a variable negates it
     * @param known variables that earlier conditions bind; variables first bound by this one are added
     * @param depth number of the fact that it would match
     */
    Pattern(List<Object> terms, Map<String, Variable> known, int depth) {
        fields = terms.size();
        for (int field = 0; field < fields; field++) {
            Object term = terms.get(field);
            boolean equal = true;
            if (term instanceof String && ((String) term).startsWith("~")) {
                term = ((String) term).substring(1);
                equal = false;
            }
            boolean isVariable = term instanceof String && ((String) term).startsWith("?");
            if (!isVariable) {
                constants.add(new Constant(field, term, equal));
            } else if (!term.equals("?")) {
                takeVariable(field, (String) term, equal, known, depth);
            }
        }
    }

    private void takeVariable(int field, String name, boolean equal, Map<String, Variable> known, int depth) {
        Variable variable = known.get(name);
        if (variable == null) {
            if (!equal) {
                throw new IllegalArgumentException(name + " is not known where something must differ from it");
            }
            known.put(name, new Variable(depth, field));
        } else if (variable.depth() < depth) {
            joins.add(new JoinTest(field, variable, equal));
        } else if (equal) {
            pairs.add(new int[] {variable.field(), field});
        } else {
            throw new IllegalArgumentException(name + " must differ within one fact, which is not supported");
        }
    }

    boolean matchesAlone(Fact fact) {
        if (fact.values().size() != fields) {
            return false;
        }
        for (Constant constant : constants) {
            if (fact.value(constant.field).equals(constant.value) != constant.equal) {
                return false;
            }
        }
        for (int[] pair : pairs) {
            if (!Objects.equals(fact.value(pair[0]), fact.value(pair[1]))) {
                return false;
            }
        }
        return true;
    }

    List<JoinTest> joins() {
        return joins;
    }

    /** Two patterns with the same text accept the same facts. */
    String textAlone() {
        StringBuilder text = new StringBuilder().append(fields);
        for (Constant constant : constants) {
            text.append(' ').append(constant.field).append(constant.equal ? '=' : '~').append(constant.value);
        }
        for (int[] pair : pairs) {
            text.append(' ').append(pair[0]).append('=').append('[').append(pair[1]).append(']');
        }
        return text.toString();
    }
}
