package org.regatta.bench.vm.jess;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** A beta memory: the matches of the first conditions of a rule; notifies the following nodes of each new match. */
class TokenStore {
    private final Set<Token> tokens = new LinkedHashSet<>();
    private final Map<String, HashIndex<Token>> indices = new TreeMap<>();
    private final List<Node> successors = new ArrayList<>();

    /** Successors by the text of their conditions: rules with a common beginning share nodes. */
    final Map<String, TokenStore> followers = new TreeMap<>();

    final void enter(Node successor) {
        successors.add(successor);
    }

    final HashIndex<Token> indexOn(Variable variable) {
        return indices.computeIfAbsent(variable.toString(), name -> new HashIndex<>(variable::in));
    }

    final Collection<Token> tokens() {
        return tokens;
    }

    void add(Token token) {
        tokens.add(token);
        for (HashIndex<Token> index : indices.values()) {
            index.add(token);
        }
        for (Node successor : successors) {
            successor.tokenCame(token);
        }
    }

    void remove(Token token) {
        tokens.remove(token);
        for (HashIndex<Token> index : indices.values()) {
            index.remove(token);
        }
    }
}
