package org.regatta.bench;

import java.util.List;
import java.util.Map;
import java.util.StringJoiner;

/** JSON output for the protocol lines and the profiler; independent of the locale. */
public final class Json {
    private static final String HEX = "0123456789abcdef";

    private Json() {}

    /** @param value a String, Integer, Long, finite Double, Boolean, List or Map with String keys of these */
    public static String of(Object value) {
        if (value instanceof String) {
            return quote((String) value);
        }
        if (value instanceof Integer || value instanceof Long || value instanceof Boolean) {
            return value.toString();
        }
        if (value instanceof Double && Double.isFinite((Double) value)) {
            return value.toString();
        }
        if (value instanceof List<?>) {
            StringJoiner joiner = new StringJoiner(", ", "[", "]");
            ((List<?>) value).forEach(item -> joiner.add(of(item)));
            return joiner.toString();
        }
        if (value instanceof Map<?, ?>) {
            StringJoiner joiner = new StringJoiner(", ", "{", "}");
            ((Map<?, ?>) value).forEach((key, item) -> joiner.add(quote((String) key) + ": " + of(item)));
            return joiner.toString();
        }
        throw new IllegalArgumentException("no JSON for " + value);
    }

    private static String quote(String text) {
        StringBuilder out = new StringBuilder(text.length() + 2).append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || c == 0x7f || Character.isSurrogate(c)) {
                // Escape surrogates too: an unpaired one has no UTF-8 form.
                out.append("\\u");
                for (int shift = 12; shift >= 0; shift -= 4) {
                    out.append(HEX.charAt(c >>> shift & 0xf));
                }
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }
}
