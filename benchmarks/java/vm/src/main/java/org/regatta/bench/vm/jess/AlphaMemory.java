package org.regatta.bench.vm.jess;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The facts that satisfy the conditions of a pattern on a single fact. */
final class AlphaMemory {
    private final Pattern pattern;
    private final Set<Fact> facts = new LinkedHashSet<>();
    private final Map<Integer, HashIndex<Fact>> indices = new TreeMap<>();

    /** Deep nodes of the network come first: otherwise a fact would meet the token that it has just created. */
    private final List<MatchNode> successors = new ArrayList<>();

    AlphaMemory(Pattern pattern) {
        this.pattern = pattern;
    }

    /** Nodes are added from the root downwards. */
    void enter(MatchNode successor) {
        successors.add(0, successor);
    }

    HashIndex<Fact> indexOn(int field) {
        return indices.computeIfAbsent(field, f -> new HashIndex<>(fact -> fact.value(f)));
    }

    Collection<Fact> facts() {
        return facts;
    }

    void offer(Fact fact) {
        if (!pattern.matchesAlone(fact)) {
            return;
        }
        facts.add(fact);
        fact.memories.add(this);
        for (HashIndex<Fact> index : indices.values()) {
            index.add(fact);
        }
        for (MatchNode successor : successors) {
            successor.factCame(fact);
        }
    }

    void remove(Fact fact) {
        facts.remove(fact);
        for (HashIndex<Fact> index : indices.values()) {
            index.remove(fact);
        }
    }
}
