package org.regatta.bench.inputs;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Compilable Java sources for release 17, generated from templates: records, enums, inner classes, generics, lambdas,
 * streams, switches, exceptions, and calls between classes across packages.
 */
public final class SourceTree {
    private static final String BORDER = "======\n";
    private static final int HEAD = 0;
    private static final int BODY = 1;
    private static final int FIRST_METHOD = 2;
    private static final String[] TEMPLATES = templates();

    private static final int CLASSES_PER_PACKAGE = 10;
    private static final int METHODS_PER_CLASS = 14;
    private static final int PEERS_PER_CLASS = 4;
    private static final int EXPRESSION_DEPTH = 4;

    private final Random random;
    private final int classes;

    /** One file. */
    public static final class Unit {
        private final String path;
        private final char[] text;

        Unit(String path, char[] text) {
            this.path = path;
            this.text = text;
        }

        /** @return a path such as {@code gen/p0/C7.java} */
        public String path() {
            return path;
        }

        /** @return its text, not a copy */
        public char[] text() {
            return text;
        }
    }

    /** @param classes number of files; each is a public class of some 150 lines */
    public SourceTree(Random random, int classes) {
        this.random = random;
        this.classes = classes;
    }

    /** Generate the files; a second call continues the random sequence and generates others. */
    public List<Unit> units() {
        List<Unit> units = new ArrayList<>();
        for (int i = 0; i < classes; i++) {
            units.add(new Unit("gen/" + packageOf(i) + "/C" + i + ".java", source(i).toCharArray()));
        }
        return units;
    }

    private static String packageOf(int index) {
        return "p" + index / CLASSES_PER_PACKAGE;
    }

    private static String qualified(int index) {
        return "gen." + packageOf(index) + ".C" + index;
    }

    private String source(int index) {
        int[] peers = random.ints(PEERS_PER_CLASS, 0, classes).toArray();
        StringBuilder out = new StringBuilder();
        out.append(String.format(TEMPLATES[HEAD], packageOf(index)));
        // 97 is a prime: the constants differ from class to class, and so do the constant pools.
        out.append(TEMPLATES[BODY].replace("$NAME", "C" + index).replace("$CONSTANT", String.valueOf(index * 97 + 11)));
        for (int method = 0; method < METHODS_PER_CLASS; method++) {
            String template = TEMPLATES[FIRST_METHOD + random.nextInt(methods())];
            out.append(template.replace("$NAME", "C" + index)
                    .replace("$METHOD", "m" + method)
                    .replace("$CONSTANT", String.valueOf(2 + random.nextInt(1000)))
                    .replace("$WORD", word())
                    .replace("$A", expression(peers, EXPRESSION_DEPTH))
                    .replace("$B", expression(peers, EXPRESSION_DEPTH)));
        }
        return out.append("}\n").toString();
    }

    private String word() {
        return Long.toString(random.nextInt(Integer.MAX_VALUE), Character.MAX_RADIX);
    }

    /** An expression of type long over {@code long x} and {@code int y}. */
    private String expression(int[] peers, int depth) {
        if (depth == 0) {
            switch (random.nextInt(4)) {
                case 0:
                    return "x";
                case 1:
                    return "y";
                case 2:
                    return "LIMIT";
                default:
                    return random.nextInt(10_000) + "L";
            }
        }
        String left = expression(peers, depth - 1);
        switch (random.nextInt(9)) {
            case 0:
                return "(" + left + " + " + expression(peers, depth - 1) + ")";
            case 1:
                return "(" + left + " - " + expression(peers, depth - 1) + ")";
            case 2:
                return "(" + left + " * " + expression(peers, depth - 1) + ")";
            case 3:
                return "(" + left + " ^ " + expression(peers, depth - 1) + ")";
            case 4:
                return "(" + left + " >>> " + random.nextInt(Long.SIZE) + ")";
            case 5:
                return "Math.max(" + left + ", " + expression(peers, depth - 1) + ")";
            case 6:
                return "(" + left + " > x ? " + expression(peers, depth - 1) + " : " + left + ")";
            case 7:
                return "Long.rotateLeft(" + left + ", y)";
            default:
                String peer = qualified(peers[random.nextInt(peers.length)]);
                return peer + ".m" + random.nextInt(METHODS_PER_CLASS) + "(" + left + ", y + 1)";
        }
    }

    /** Templates from the resource: the head of the file, the start of its class, then one method each. */
    private static String[] templates() {
        try (InputStream in = SourceTree.class.getResourceAsStream("source-templates.txt")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8).substring(BORDER.length()).split(BORDER);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int methods() {
        return TEMPLATES.length - FIRST_METHOD;
    }
}
