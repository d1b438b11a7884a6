package org.regatta.bench.vm.jess;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Facts, rules, and the loop that fires rules until none is applicable. */
final class Engine {
    private final Map<List<Object>, Fact> facts = new LinkedHashMap<>();
    private final Counter counter = new Counter();
    private final Agenda agenda = new Agenda();
    private final Network network = new Network(agenda);
    private int firings;

    /** @param rules as text, see {@code RuleText} */
    Engine(String rules) {
        for (List<Object> rule : RuleText.read(rules)) {
            network.add(rule);
        }
        network.start();
    }

    /** No effect if it is already known. */
    void assertFact(List<Object> values) {
        if (!facts.containsKey(values)) {
            Fact fact = new Fact(counter.next(), values);
            facts.put(values, fact);
            network.offer(fact);
        }
    }

    /** No effect if it is already removed. */
    void retract(Fact fact) {
        if (facts.remove(fact.values(), fact)) {
            Network.remove(fact);
        }
    }

    void run() {
        for (Agenda.Activation next = agenda.next(); next != null; next = agenda.next()) {
            next.rule.fire(this, next.match);
            firings++;
        }
    }

    int firings() {
        return firings;
    }

    /** Number of matches so far, complete or partial. */
    int tokens() {
        return network.tokenCount();
    }

    /** @return the facts of a kind, oldest first */
    List<List<Object>> factsOf(String kind) {
        List<List<Object>> found = new ArrayList<>();
        for (List<Object> values : facts.keySet()) {
            if (values.get(0).equals(kind)) {
                found.add(values);
            }
        }
        return found;
    }
}
