package org.regatta.bench.vm.jess;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Rules compiled to a network through which facts flow, so that the cost of a change depends only on its effects.
 *
 * <p>Source: C. L. Forgy, Rete: A Fast Algorithm for the Many Pattern/Many Object Pattern Match Problem, Artificial
 * Intelligence 19(1), 1982; with hashed memories and removal by lists as in R. B. Doorenbos, Production Matching for
 * Large Learning Systems, CMU-CS-95-113, 1995.
 */
final class Network {
    private final TokenStore root = new TokenStore();
    private final Map<String, AlphaMemory> memories = new LinkedHashMap<>();
    private final Counter tokens = new Counter();
    private final Agenda agenda;

    Network(Agenda agenda) {
        this.agenda = agenda;
    }

    /**
     * Add a rule; all rules come before the first fact.
     *
     * @param parts {@code rule}, its name, its conditions, {@code =>}, its actions
     */
    void add(List<Object> parts) {
        Map<String, Variable> known = new HashMap<>();
        Rule rule = new Rule((String) parts.get(1), salience(parts));
        TokenStore store = root;
        int depth = 0;
        int arrow = parts.indexOf("=>");
        for (Object part : parts.subList(2, arrow)) {
            List<Object> condition = list(part);
            if (condition.get(0).equals("not")) {
                // Variables bound in a "not" are known only within it.
                store = not(store, new Pattern(list(condition.get(1)), new HashMap<>(known), depth + 1));
            } else if (condition.get(0).equals("test")) {
                store = test(store, condition.get(1), known);
            } else if (!condition.get(0).equals("salience")) {
                store = join(store, new Pattern(condition, known, ++depth));
            }
        }
        for (Object action : parts.subList(arrow + 1, parts.size())) {
            rule.addAction(list(action), known);
        }
        enterRule(store, rule);
    }

    /** Insert the empty match, the start of every match. */
    void start() {
        root.add(new Token(tokens.next(), null, null, root));
    }

    void offer(Fact fact) {
        for (AlphaMemory memory : memories.values()) {
            memory.offer(fact);
        }
    }

    /** Remove a fact from all memories, together with its matches; then continue the matches that only it blocked. */
    static void remove(Fact fact) {
        for (AlphaMemory memory : fact.memories) {
            memory.remove(fact);
        }
        for (Token token : new ArrayList<>(fact.tokens)) {
            // One may already be removed with another.
            if (fact.tokens.contains(token)) {
                token.delete();
            }
        }
        NotNode.release(fact);
    }

    int tokenCount() {
        return tokens.count();
    }

    private TokenStore join(TokenStore left, Pattern pattern) {
        return left.followers.computeIfAbsent("join " + pattern.textAlone() + pattern.joins(), text -> {
            TokenStore out = new TokenStore();
            AlphaMemory right = memory(pattern);
            JoinNode node = new JoinNode(left, right, pattern.joins(), out, tokens);
            left.enter(node);
            right.enter(node);
            return out;
        });
    }

    private TokenStore not(TokenStore left, Pattern pattern) {
        return left.followers.computeIfAbsent("not " + pattern.textAlone() + pattern.joins(), text -> {
            TokenStore out = new TokenStore();
            AlphaMemory right = memory(pattern);
            NotNode.HeldStore held = new NotNode.HeldStore();
            NotNode node = new NotNode(held, right, pattern.joins(), out, tokens);
            held.setNode(node);
            left.enter(node);
            right.enter(node);
            return out;
        });
    }

    private TokenStore test(TokenStore left, Object term, Map<String, Variable> known) {
        Expression expression = Expression.of(term, known);
        TokenStore out = new TokenStore();
        left.enter(token -> {
            if ((Boolean) expression.value(token)) {
                out.add(new Token(tokens.next(), token, null, out));
            }
        });
        return out;
    }

    private void enterRule(TokenStore left, Rule rule) {
        TokenStore matches = new TokenStore() {
            @Override
            void add(Token token) {
                super.add(token);
                agenda.add(rule, token);
            }

            @Override
            void remove(Token token) {
                super.remove(token);
                agenda.remove(token);
            }
        };
        left.enter(token -> matches.add(new Token(tokens.next(), token, null, matches)));
    }

    private AlphaMemory memory(Pattern pattern) {
        return memories.computeIfAbsent(pattern.textAlone(), text -> new AlphaMemory(pattern));
    }

    private static long salience(List<Object> parts) {
        for (Object part : parts) {
            if (part instanceof List && list(part).get(0).equals("salience")) {
                return (Long) list(part).get(1);
            }
        }
        return 0;
    }

    @SuppressWarnings("unchecked")
    private static List<Object> list(Object part) {
        return (List<Object>) part;
    }
}
