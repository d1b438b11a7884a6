package org.regatta.bench.micro;

final class Builders extends Group {
    private static final int[] CHARS = {16, 128, 1024};
    /** Maximum length of an appended text. */
    private static final int FULL = 4096;

    @Override
    void addOperations() throws Exception {
        object("builder_new", i -> new StringBuilder());
        StringBuilder spare = new StringBuilder(FULL);
        ValueOperation emptied = i -> {
            if ((i & FULL - 1) == 0) {
                spare.setLength(0);
            }
            return i + (i & 15);
        };
        String[] words = Inputs.words(16);
        StringBuilder ofChars = new StringBuilder(FULL);
        value("builder_append_char", i -> {
            if ((i & FULL - 1) == 0) {
                ofChars.setLength(0);
            }
            ofChars.append((char) ('a' + (i & 15)));
            return i;
        }, emptied);
        StringBuilder ofNumbers = new StringBuilder(FULL);
        value("builder_append_int", i -> {
            if ((i & 255) == 0) {
                ofNumbers.setLength(0);
            }
            ofNumbers.append((int) i & 0xfffff);
            return i;
        }, emptied);
        values("builder_append_string", "chars", CHARS, chars -> {
            String[] some = Inputs.words(chars);
            StringBuilder builder = new StringBuilder(FULL + chars);
            int fits = FULL / chars - 1; // a power of two minus 1
            return i -> {
                if ((i & fits) == 0) {
                    builder.setLength(0);
                }
                builder.append(some[Inputs.index(i)]);
                return i;
            };
        }, chars -> {
            int fits = FULL / chars - 1;
            return i -> {
                if ((i & fits) == 0) {
                    spare.setLength(0);
                }
                return words[Inputs.index(i)] == null ? 1 : i;
            };
        });
        objects("builder_to_string", "chars", CHARS, chars -> {
            StringBuilder builder = new StringBuilder(Inputs.words(chars)[0]);
            return i -> {
                builder.setCharAt(0, (char) ('a' + (i & 15)));
                return builder.toString();
            };
        }, chars -> {
            StringBuilder builder = new StringBuilder(words[0]);
            return i -> {
                builder.setCharAt(0, (char) ('a' + (i & 15)));
                return builder;
            };
        });
        StringBuilder read = new StringBuilder(Inputs.words(1024)[0]);
        value("builder_char_at", i -> read.charAt((int) i & 1023), i -> (int) i & 1023);
        value("builder_length", i -> {
            read.setLength(1024 + ((int) i & 1));
            return read.length();
        });
        StringBuffer buffer = new StringBuffer(FULL);
        value("buffer_append_char", i -> {
            if ((i & FULL - 1) == 0) {
                buffer.setLength(0);
            }
            buffer.append((char) ('a' + (i & 15)));
            return i;
        }, emptied);
    }
}
