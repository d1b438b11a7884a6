package org.regatta.bench.gc;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;

/** Methods like those of programs: calls, fields, casts and loops. {@link MachineCode} copies the class. */
public final class CompiledMethods implements IntUnaryOperator {
    private static final int KEYS = 16;

    private final Map<Integer, String> names = new HashMap<>();
    private final List<Object> found = new ArrayList<>();

    @Override
    public int applyAsInt(int number) {
        found.clear();
        String text = name(number % KEYS);
        return sum(text) + count(number) + (isEven(number) ? size(text) : parse(text, number));
    }

    private String name(int key) {
        String known = names.get(key);
        if (known == null) {
            known = "name" + key;
            names.put(key, known);
        }
        found.add(known);
        return known;
    }

    private static int sum(CharSequence text) {
        int sum = 0;
        for (int i = 0; i < text.length(); i++) {
            sum = sum * KEYS + text.charAt(i);
        }
        return sum;
    }

    private int count(int number) {
        found.add(Boolean.valueOf(isEven(number)));
        int strings = 0;
        for (Object each : found) {
            strings += each instanceof String ? ((String) each).length() : 1;
        }
        return strings;
    }

    private static boolean isEven(int number) {
        return number % 2 == 0;
    }

    private int size(String text) {
        return names.containsValue(text) ? names.size() : found.size();
    }

    private static int parse(String text, int otherwise) {
        char last = text.charAt(text.length() - 1);
        switch (last) {
            case '1':
            case '3':
                return Character.getNumericValue(last);
            case '5':
                return text.indexOf('m');
            default:
                return otherwise;
        }
    }
}
