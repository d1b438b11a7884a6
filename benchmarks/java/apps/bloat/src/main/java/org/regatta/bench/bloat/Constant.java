package org.regatta.bench.bloat;

import org.objectweb.asm.Type;
import org.objectweb.asm.tree.analysis.BasicValue;

/** A value that is the same whenever the instruction executes: an {@code int} or a {@code long}. */
final class Constant extends BasicValue {
    /** Not the type of the value itself: a value with only a known type must not equal a constant. */
    private static final Type UNLIKE_ANY = Type.getObjectType("constant");

    private final boolean isLong;
    private final long value;

    private Constant(boolean isLong, long value) {
        super(UNLIKE_ANY);
        this.isLong = isLong;
        this.value = value;
    }

    static Constant ofInt(int value) {
        return new Constant(false, value);
    }

    static Constant ofLong(long value) {
        return new Constant(true, value);
    }

    boolean isLong() {
        return isLong;
    }

    int intValue() {
        return (int) value;
    }

    long longValue() {
        return value;
    }

    @Override
    public Type getType() {
        return isLong ? Type.LONG_TYPE : Type.INT_TYPE;
    }

    @Override
    public int getSize() {
        return isLong ? 2 : 1;
    }

    @Override
    public boolean isReference() {
        return false;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Constant && ((Constant) other).value == value && ((Constant) other).isLong == isLong;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(value);
    }
}
