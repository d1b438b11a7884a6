package org.regatta.bench.micro;

import java.nio.charset.StandardCharsets;

final class Strings extends Group {
    private static final int[] CHARS = {16, 128, 1024};

    @Override
    void addOperations() throws Exception {
        String[] words = Inputs.words(16);
        String[] others = Inputs.copies(words);
        ValueOperation indexed = Inputs.indexed(words);
        ValueOperation ofTwo = i -> words[Inputs.index(i)] == others[Inputs.index(i)] ? 1 : i;
        ObjectOperation one = Inputs.one(words);
        char[] changing = new char[16];
        ObjectOperation changed = i -> {
            changing[0] = (char) ('a' + (i & 15));
            return changing;
        };
        String text = Inputs.words(1024)[0];
        value("string_char_at", i -> text.charAt((int) i & 1023), i -> (int) i & 1023);
        value("string_length", i -> words[Inputs.index(i)].length(), indexed);
        value("string_is_empty", i -> words[Inputs.index(i)].isEmpty() ? 1 : i, indexed);
        value("string_hash_code", i -> words[Inputs.index(i)].hashCode(), indexed);
        value("string_starts_with", i -> words[Inputs.index(i)].startsWith("abc") ? 1 : i, indexed);
        values("string_equals", "chars", CHARS, chars -> {
            String[] some = Inputs.words(chars);
            String[] equal = Inputs.copies(some);
            return i -> some[Inputs.index(i)].equals(equal[Inputs.index(i)]) ? 1 : i;
        }, chars -> ofTwo);
        values("string_compare_to", "chars", CHARS, chars -> {
            String[] some = Inputs.words(chars);
            String[] equal = Inputs.copies(some);
            return i -> some[Inputs.index(i)].compareTo(equal[Inputs.index(i)]);
        }, chars -> ofTwo);
        values("string_index_of", "chars", CHARS, chars -> {
            String[] some = Inputs.words(chars);
            return i -> some[Inputs.index(i)].indexOf('#');
        }, chars -> indexed);
        objects("string_substring", "chars", CHARS, chars -> {
            String[] some = Inputs.words(chars + 2);
            return i -> some[Inputs.index(i)].substring(1, chars + 1);
        }, chars -> one);
        objects("string_concat", "chars", CHARS, chars -> {
            String[] some = Inputs.words(chars);
            return i -> "#".concat(some[Inputs.index(i)]);
        }, chars -> one);
        objects("string_to_upper_case", "chars", CHARS, chars -> {
            String[] some = Inputs.words(chars);
            return i -> some[Inputs.index(i)].toUpperCase();
        }, chars -> one);
        objects("string_to_lower_case", "chars", CHARS, chars -> {
            String[] some = Inputs.words(chars);
            return i -> some[Inputs.index(i)].toLowerCase();
        }, chars -> one);
        objects("string_to_char_array", "chars", CHARS, chars -> {
            String[] some = Inputs.words(chars);
            return i -> some[Inputs.index(i)].toCharArray();
        }, chars -> one);
        objects("string_of_chars", "chars", CHARS, chars -> {
            char[] some = Inputs.words(chars)[0].toCharArray();
            return i -> {
                some[0] = (char) ('a' + (i & 15));
                return new String(some);
            };
        }, chars -> changed);
        objects("string_get_bytes", "chars", CHARS, chars -> {
            String[] some = Inputs.words(chars);
            return i -> some[Inputs.index(i)].getBytes(StandardCharsets.UTF_8);
        }, chars -> one);
        objects("string_of_bytes", "chars", CHARS, chars -> {
            byte[] some = Inputs.prose(chars);
            return i -> {
                some[0] = (byte) ('a' + (i & 15));
                return new String(some, StandardCharsets.UTF_8);
            };
        }, chars -> changed);
        object("string_split", i -> words[Inputs.index(i)].split("e"), one);
        object("character_to_string", i -> Character.toString((char) ('a' + (i & 15))));
    }
}
