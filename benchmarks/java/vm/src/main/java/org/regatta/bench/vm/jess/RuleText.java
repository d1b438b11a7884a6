package org.regatta.bench.vm.jess;

import java.util.ArrayList;
import java.util.List;

/** Reads nested lists in parentheses; an atom is a long or a string; a semicolon begins a comment. */
final class RuleText {
    private final String text;
    private int at;

    private RuleText(String text) {
        this.text = text;
    }

    /** @return the top-level lists */
    static List<List<Object>> read(String text) {
        RuleText reader = new RuleText(text);
        List<List<Object>> lists = new ArrayList<>();
        while (reader.skipBlanks()) {
            reader.at++;
            lists.add(reader.list());
        }
        return lists;
    }

    private List<Object> list() {
        List<Object> parts = new ArrayList<>();
        while (true) {
            if (!skipBlanks()) {
                throw new IllegalArgumentException("a list is not closed at the end of the rules");
            }
            char c = text.charAt(at);
            if (c == ')') {
                at++;
                return parts;
            }
            if (c == '(') {
                at++;
                parts.add(list());
            } else {
                parts.add(atom());
            }
        }
    }

    private Object atom() {
        int start = at;
        while (at < text.length() && "() \n".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String atom = text.substring(start, at);
        return atom.chars().allMatch(Character::isDigit) ? (Object) Long.valueOf(atom) : atom;
    }

    private boolean skipBlanks() {
        while (at < text.length()) {
            if (text.charAt(at) == ';') {
                at = text.indexOf('\n', at);
            }
            if (!Character.isWhitespace(text.charAt(at))) {
                return true;
            }
            at++;
        }
        return false;
    }
}
