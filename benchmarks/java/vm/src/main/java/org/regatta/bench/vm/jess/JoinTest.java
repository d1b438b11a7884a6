package org.regatta.bench.vm.jess;

/** A field of a fact must be equal to a variable's value, or must differ from it. */
final class JoinTest {
    private final int field;
    private final Variable variable;
    private final boolean equal;

    JoinTest(int field, Variable variable, boolean equal) {
        this.field = field;
        this.variable = variable;
        this.equal = equal;
    }

    int field() {
        return field;
    }

    Variable variable() {
        return variable;
    }

    boolean equal() {
        return equal;
    }

    boolean passes(Token token, Fact fact) {
        return fact.value(field).equals(variable.in(token)) == equal;
    }

    @Override
    public String toString() {
        return field + (equal ? "=" : "~") + variable;
    }
}
