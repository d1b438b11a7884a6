package org.regatta.bench.first;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Java sources that compile, made of templates that a generator fills: records, enums, inner classes, generics,
 * lambdas, streams, switches, exceptions, and calls from class to class across packages.
 */
final class SourceTree {
    private static final int CLASSES_PER_PACKAGE = 10;
    private static final int METHODS_PER_CLASS = 14;
    private static final int PEERS_PER_CLASS = 4;
    private static final int EXPRESSION_DEPTH = 4;

    private final Random random;
    private final int classes;

    /** One file. */
    record Unit(String path, char[] text) {}

    SourceTree(Random random, int classes) {
        this.random = random;
        this.classes = classes;
    }

    List<Unit> units() {
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
        out.append(HEAD.formatted(packageOf(index)));
        // 97 is a prime: the constants differ from class to class, and so do the constant pools.
        out.append(BODY.replace("$NAME", "C" + index).replace("$CONSTANT", String.valueOf(index * 97 + 11)));
        for (int method = 0; method < METHODS_PER_CLASS; method++) {
            String template = METHODS[random.nextInt(METHODS.length)];
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
            return switch (random.nextInt(4)) {
                case 0 -> "x";
                case 1 -> "y";
                case 2 -> "LIMIT";
                default -> random.nextInt(10_000) + "L";
            };
        }
        String left = expression(peers, depth - 1);
        return switch (random.nextInt(9)) {
            case 0 -> "(" + left + " + " + expression(peers, depth - 1) + ")";
            case 1 -> "(" + left + " - " + expression(peers, depth - 1) + ")";
            case 2 -> "(" + left + " * " + expression(peers, depth - 1) + ")";
            case 3 -> "(" + left + " ^ " + expression(peers, depth - 1) + ")";
            case 4 -> "(" + left + " >>> " + random.nextInt(Long.SIZE) + ")";
            case 5 -> "Math.max(" + left + ", " + expression(peers, depth - 1) + ")";
            case 6 -> "(" + left + " > x ? " + expression(peers, depth - 1) + " : " + left + ")";
            case 7 -> "Long.rotateLeft(" + left + ", y)";
            default -> qualified(peers[random.nextInt(peers.length)])
                    + ".m" + random.nextInt(METHODS_PER_CLASS) + "(" + left + ", y + 1)";
        };
    }

    private static final String HEAD = """
            package gen.%s;

            import java.util.ArrayList;
            import java.util.Comparator;
            import java.util.HashMap;
            import java.util.List;
            import java.util.Map;
            import java.util.TreeMap;
            import java.util.function.Function;
            import java.util.function.LongUnaryOperator;
            import java.util.stream.Collectors;
            import java.util.stream.IntStream;

            """;

    private static final String BODY = """
            public final class $NAME implements Comparable<$NAME> {
                static final long LIMIT = $CONSTANTL;

                enum Kind {
                    FIRST, SECOND, THIRD;

                    Kind next() {
                        return values()[(ordinal() + 1) % values().length];
                    }
                }

                record Pair<A, B>(A first, B second) {
                    <C> Pair<A, C> with(C other) {
                        return new Pair<>(first, other);
                    }
                }

                interface Visitor<R> {
                    R visitLeaf(long value);

                    R visitNode(Tree left, Tree right);
                }

                abstract static class Tree {
                    abstract <R> R accept(Visitor<R> visitor);
                }

                static class Leaf extends Tree {
                    final long value;

                    Leaf(long value) {
                        this.value = value;
                    }

                    @Override
                    <R> R accept(Visitor<R> visitor) {
                        return visitor.visitLeaf(value);
                    }
                }

                private final Map<String, List<Integer>> index = new TreeMap<>();
                private final long identity;
                private Kind kind = Kind.FIRST;

                public $NAME(long identity) {
                    this.identity = identity;
                }

                public void add(String key, int value) {
                    index.computeIfAbsent(key, k -> new ArrayList<>()).add(value);
                    kind = kind.next();
                }

                @Override
                public int compareTo($NAME other) {
                    return Long.compare(identity, other.identity);
                }

                @Override
                public boolean equals(Object other) {
                    return other instanceof $NAME that && that.identity == identity;
                }

                @Override
                public int hashCode() {
                    return Long.hashCode(identity);
                }

                @Override
                public String toString() {
                    return "$NAME[" + identity + ", " + kind + ", " + index.size() + "]";
                }
            """;

    private static final String[] METHODS = {
        """

            public static long $METHOD(long x, int y) {
                long sum = $CONSTANT;
                for (int i = 0; i < (y & 0xff); i++) {
                    sum += $A;
                    if ((sum & 7) == 3) {
                        continue;
                    }
                    sum ^= $B;
                }
                return sum;
            }
        """,
        """

            public static long $METHOD(long x, int y) {
                Map<Integer, List<Pair<Integer, String>>> groups = IntStream.range(0, y & 0xf)
                        .mapToObj(i -> new Pair<>(i, "$WORD" + i))
                        .filter(pair -> pair.first() % 3 != 1)
                        .map(pair -> pair.with(pair.second() + $CONSTANT))
                        .collect(Collectors.groupingBy(pair -> pair.second().length(), TreeMap::new, Collectors.toList()));
                return groups.values().stream().mapToLong(List::size).sum() + $A;
            }
        """,
        """

            public static long $METHOD(long x, int y) {
                return switch (Kind.values()[Math.floorMod(y, 3)]) {
                    case FIRST -> $A;
                    case SECOND -> {
                        long inner = $B;
                        yield inner * $CONSTANT;
                    }
                    case THIRD -> x - y;
                };
            }
        """,
        """

            public static long $METHOD(long x, int y) {
                String text = "$WORD" + x + ':' + y;
                switch (text) {
                    case "$WORD1:2":
                        return $A;
                    case "$WORD":
                    case "other":
                        return $CONSTANT;
                    default:
                        return text.chars().filter(Character::isDigit).count() + $B;
                }
            }
        """,
        """

            public static long $METHOD(long x, int y) {
                try {
                    long[] table = new long[$CONSTANT];
                    table[y] = $A;
                    return table[y] / (x - $CONSTANT);
                } catch (ArrayIndexOutOfBoundsException | ArithmeticException e) {
                    return $B;
                } finally {
                    new $NAME(x).add("$WORD", y);
                }
            }
        """,
        """

            public static long $METHOD(long x, int y) {
                Tree tree = new Leaf($A) {}.value > y ? new Leaf(x) : new Leaf($CONSTANT);
                return tree.accept(new Visitor<Long>() {
                    @Override
                    public Long visitLeaf(long value) {
                        return value + y;
                    }

                    @Override
                    public Long visitNode(Tree left, Tree right) {
                        return left.accept(this) + right.<Long>accept(this);
                    }
                });
            }
        """,
        """

            public static long $METHOD(long x, int y) {
                LongUnaryOperator step = value -> value * $CONSTANT + y;
                Function<Long, Function<Integer, Long>> curried = a -> b -> step.andThen(c -> c ^ a).applyAsLong(b);
                return curried.apply($A).apply(y) + $B;
            }
        """,
        """

            public static long $METHOD(long x, int y) {
                List<$NAME> all = new ArrayList<>();
                for (long id = $A; id % $CONSTANT != 0; id--) {
                    all.add(new $NAME(id));
                }
                all.sort(Comparator.<$NAME, Integer>comparing(c -> c.index.size()).thenComparing(Comparator.reverseOrder()));
                Map<Kind, Long> counts = new HashMap<>();
                for ($NAME one : all) {
                    counts.merge(one.kind, one.identity, Long::sum);
                }
                return counts.getOrDefault(Kind.SECOND, $B);
            }
        """,
    };
}
