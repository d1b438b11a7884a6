package org.regatta.bench.vm.jess;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** A fact of the engine: a row of values (strings and longs), the first of which is its kind. */
final class Fact {
    private final int number;
    private final List<Object> values;

    /** The memories that contain it, for removal. */
    final List<AlphaMemory> memories = new ArrayList<>(4);

    /** Partial matches that end with it. */
    final Set<Token> tokens = new LinkedHashSet<>();

    /** Partial matches that a "not" blocks because of it. */
    final Set<Token> blocked = new LinkedHashSet<>();

    /** @param number number of earlier facts */
    Fact(int number, List<Object> values) {
        this.number = number;
        this.values = values;
    }

    List<Object> values() {
        return values;
    }

    Object value(int field) {
        return values.get(field);
    }

    /** Not by identity: the same on every JVM. */
    @Override
    public int hashCode() {
        return number;
    }

    @Override
    public boolean equals(Object other) {
        return this == other;
    }
}
