package org.regatta.bench.micro;

import java.util.Random;

/** Inputs that are the same in every run. {@link #COUNT} of each kind, so that the JIT cannot specialise for one. */
final class Inputs {
    /** A power of two. */
    static final int COUNT = 64;

    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz";

    private Inputs() {}

    /** @return the index of the input for the operation {@code i} */
    static int index(long i) {
        return (int) i & COUNT - 1;
    }

    /** @return a baseline of operations on one of some inputs whose result is a number */
    static ValueOperation indexed(Object[] some) {
        return i -> some[index(i)] == null ? 1 : i;
    }

    /** @return a baseline of operations on one of some inputs whose result is an object */
    static ObjectOperation one(Object[] some) {
        return i -> some[index(i)];
    }

    /** @return different words of the given number of lower-case letters */
    static String[] words(int letters) {
        return words(letters, COUNT);
    }

    /** @return the given number of words of the given number of lower-case letters */
    static String[] words(int letters, int count) {
        Random random = new Random(letters);
        String[] words = new String[count];
        for (int i = 0; i < count; i++) {
            words[i] = word(random, letters);
        }
        return words;
    }

    /** @return equal words in different objects */
    static String[] copies(String[] words) {
        String[] copies = new String[words.length];
        for (int i = 0; i < words.length; i++) {
            copies[i] = new String(words[i].toCharArray());
        }
        return copies;
    }

    /** @return the given number of bytes of words and spaces, which compress like text */
    static byte[] prose(int bytes) {
        Random random = new Random(bytes);
        byte[] text = new byte[bytes];
        String[] vocabulary = words(7);
        int at = 0;
        while (at < bytes) {
            String word = vocabulary[random.nextInt(COUNT)] + " ";
            for (int i = 0; i < word.length() && at < bytes; i++) {
                text[at++] = (byte) word.charAt(i);
            }
        }
        return text;
    }

    private static String word(Random random, int letters) {
        StringBuilder word = new StringBuilder(letters);
        for (int i = 0; i < letters; i++) {
            word.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
        }
        return word.toString();
    }
}
