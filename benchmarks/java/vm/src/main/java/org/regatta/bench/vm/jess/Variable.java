package org.regatta.bench.vm.jess;

/** The source of a variable's value: a field of one of the facts of a match. */
final class Variable {
    private final int depth;
    private final int field;

    /** @param depth number of the fact in the match, from 1 */
    Variable(int depth, int field) {
        this.depth = depth;
        this.field = field;
    }

    int depth() {
        return depth;
    }

    int field() {
        return field;
    }

    Object in(Token token) {
        return token.factAt(depth).value(field);
    }

    @Override
    public String toString() {
        return depth + "." + field;
    }
}
