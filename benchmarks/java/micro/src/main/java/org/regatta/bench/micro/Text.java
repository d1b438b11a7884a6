package org.regatta.bench.micro;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.StandardCharsets;
import java.util.StringTokenizer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

final class Text extends Group {
    private static final int[] CHARS = {16, 128, 1024};

    @Override
    void addOperations() throws Exception {
        String[] words = Inputs.words(16);
        object("pattern_compile", i -> Pattern.compile("[a-" + (char) ('f' + (i & 15)) + "]+(x|yz)*\\d?"));
        values("pattern_find", "chars", CHARS, chars -> {
            String[] some = Inputs.words(chars);
            Matcher matcher = Pattern.compile("[0-9]+#").matcher("");
            return i -> matcher.reset(some[Inputs.index(i)]).find() ? 1 : i;
        }, chars -> Inputs.indexed(words));
        object("string_format", i -> String.format("%d: %s", i, words[Inputs.index(i)]));
        String prose = new String(Inputs.prose(1024), StandardCharsets.US_ASCII);
        StringTokenizer[] tokens = {new StringTokenizer(prose)};
        object("tokenizer_next", i -> {
            if (!tokens[0].hasMoreTokens()) {
                tokens[0] = new StringTokenizer(prose);
            }
            return tokens[0].nextToken();
        });
        values("charset_encode", "chars", CHARS, chars -> {
            CharBuffer text = CharBuffer.wrap(new String(Inputs.prose(chars), StandardCharsets.US_ASCII).toCharArray());
            CharsetEncoder encoder = StandardCharsets.UTF_8.newEncoder();
            ByteBuffer bytes = ByteBuffer.allocate(4 * chars);
            return i -> {
                encoder.reset();
                encoder.encode(text.rewind(), bytes.clear(), true);
                return bytes.position();
            };
        });
        values("charset_decode", "bytes", CHARS, length -> {
            ByteBuffer bytes = ByteBuffer.wrap(Inputs.prose(length));
            CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
            CharBuffer text = CharBuffer.allocate(length);
            return i -> {
                decoder.reset();
                decoder.decode(bytes.rewind(), text.clear(), true);
                return text.position();
            };
        });
    }
}
