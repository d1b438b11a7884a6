package org.regatta.bench.vm.jess;

import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/** Finds the items with a given value, in insertion order. */
final class HashIndex<T> {
    private final Function<T, Object> key;
    private final Map<Object, Set<T>> buckets = new HashMap<>();

    HashIndex(Function<T, Object> key) {
        this.key = key;
    }

    void add(T thing) {
        buckets.computeIfAbsent(key.apply(thing), value -> new LinkedHashSet<>()).add(thing);
    }

    void remove(T thing) {
        Object value = key.apply(thing);
        Set<T> bucket = buckets.get(value);
        bucket.remove(thing);
        if (bucket.isEmpty()) {
            buckets.remove(value);
        }
    }

    Collection<T> with(Object value) {
        return buckets.getOrDefault(value, Set.of());
    }
}
