package org.regatta.bench.inputs;

import java.nio.charset.StandardCharsets;
import java.util.Random;

/**
 * Text of invented words in sentences. Few words are frequent and many are rare, as in natural language, so that a
 * dictionary compressor is effective. Integer arithmetic only: the same bytes on every JVM.
 */
public final class GeneratedText {
    private static final int VOCABULARY = 8192;
    private static final String[] SYLLABLES = {
        "ka", "re", "mi", "to", "lun", "se", "dar", "vo", "ni", "pel", "sha", "gor", "u", "ist", "ba", "en", "qui", "fy"
    };

    private GeneratedText() {}

    /** @return {@code length} bytes of text in ASCII */
    public static byte[] bytes(Random random, int length) {
        byte[][] words = vocabulary(random);
        byte[] text = new byte[length];
        int filled = 0;
        int wordsLeft = 0;
        while (filled < length) {
            if (wordsLeft == 0) {
                wordsLeft = 4 + random.nextInt(16);
                filled = append(text, filled, random.nextInt(6) == 0 ? ".\n" : ". ");
            }
            wordsLeft--;
            byte[] word = words[skewed(random)];
            int copied = Math.min(word.length, length - filled);
            System.arraycopy(word, 0, text, filled, copied);
            filled = append(text, filled + copied, " ");
        }
        return text;
    }

    private static int append(byte[] text, int at, String piece) {
        int i = at;
        for (byte b : piece.getBytes(StandardCharsets.US_ASCII)) {
            if (i < text.length) {
                text[i++] = b;
            }
        }
        return i;
    }

    /** The product of three uniform numbers: word 0 is by far the most frequent, the last words are rare. */
    private static int skewed(Random random) {
        long product = 1;
        for (int i = 0; i < 3; i++) {
            product *= random.nextInt(VOCABULARY);
        }
        return (int) (product / ((long) VOCABULARY * VOCABULARY));
    }

    private static byte[][] vocabulary(Random random) {
        byte[][] words = new byte[VOCABULARY][];
        for (int i = 0; i < VOCABULARY; i++) {
            StringBuilder word = new StringBuilder();
            for (int syllables = 1 + random.nextInt(4); syllables > 0; syllables--) {
                word.append(SYLLABLES[random.nextInt(SYLLABLES.length)]);
            }
            words[i] = word.toString().getBytes(StandardCharsets.US_ASCII);
        }
        return words;
    }
}
