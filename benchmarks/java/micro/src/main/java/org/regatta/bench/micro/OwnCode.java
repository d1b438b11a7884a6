package org.regatta.bench.micro;

import java.util.Random;

/**
 * Work without system classes. The ratio of its costs scales the time of application code from one JVM to another. The
 * spread of this ratio over the kinds of work shows its uncertainty.
 */
final class OwnCode extends Group {
    private static final int SIZE = 64;
    /** Of 4 bytes each: more than the caches of a core hold. */
    private static final int PLACES = 1 << 21;

    @Override
    void addOperations() throws Exception {
        ValueOperation[] kinds = {elements(), objects(), arithmetic(), allocation(), memory(), recursion(), numbers()};
        int[] all = new int[kinds.length];
        for (int kind = 0; kind < all.length; kind++) {
            all[kind] = kind + 1;
        }
        values("user_work", "kind", all, kind -> kinds[kind - 1]);
    }

    /** Elements of an array, and branches that depend on them. */
    private static ValueOperation elements() {
        int[] keys = new int[SIZE];
        for (int i = 0; i < SIZE; i++) {
            keys[i] = i * 7919 % 1009;
        }
        return i -> {
            int from = (int) i & SIZE - 1;
            int limit = (int) (i * 31 & 1023);
            int least = Integer.MAX_VALUE;
            for (int step = 0; step < SIZE / 4; step++) {
                int key = keys[from + step & SIZE - 1];
                if (key > limit && key < least) {
                    least = key;
                }
            }
            return least;
        };
    }

    /** Fields, and calls whose target depends on the object. */
    private static ValueOperation objects() {
        Shape[] shapes = new Shape[SIZE];
        for (int i = 0; i < SIZE; i++) {
            shapes[i] = i % 3 == 0 ? new Square(i) : i % 3 == 1 ? new Ring(i) : new Bar(i);
        }
        return i -> {
            long sum = 0;
            for (int step = 0; step < 4; step++) {
                Shape shape = shapes[(int) (i * 7 + step & SIZE - 1)];
                shape.grow((int) i & 15);
                sum += shape.area();
            }
            return sum;
        };
    }

    /** Steps that each depend on the previous result. */
    private static ValueOperation arithmetic() {
        return i -> {
            long state = i + 1;
            for (int step = 0; step < 8; step++) {
                state ^= state << 13;
                state ^= state >>> 7;
                state = (state & 1) == 0 ? state + step : state - step;
            }
            return state;
        };
    }

    /** Objects that live until {@link #SIZE} others have been created. */
    private static ValueOperation allocation() {
        Node[] latest = new Node[SIZE];
        return i -> {
            int place = (int) i & SIZE - 1;
            Node before = latest[place];
            latest[place] = new Node(null, null, i);
            return before == null ? 0 : before.key;
        };
    }

    /** A random walk through an array. */
    private static ValueOperation memory() {
        int[] next = new int[PLACES];
        for (int i = 0; i < PLACES; i++) {
            next[i] = i;
        }
        Random random = new Random(1);
        for (int i = PLACES - 1; i > 0; i--) {
            int other = random.nextInt(i);
            int kept = next[i];
            next[i] = next[other];
            next[other] = kept;
        }
        int[] place = new int[1];
        return i -> place[0] = next[place[0]];
    }

    /** A search in a tree. */
    private static ValueOperation recursion() {
        Node root = Node.between(0, SIZE - 1);
        return i -> root.depthOf(i * 31 & SIZE - 1);
    }

    /** A product of vectors. */
    private static ValueOperation numbers() {
        double[] left = new double[SIZE];
        double[] right = new double[SIZE];
        for (int i = 0; i < SIZE; i++) {
            left[i] = 1.0 / (i + 1);
            right[i] = Math.sqrt(i);
        }
        return i -> {
            int from = (int) i & SIZE / 2 - 1;
            double sum = 0;
            for (int at = from; at < from + SIZE / 2; at++) {
                sum += left[at] * right[at];
            }
            left[from] = 1 / (1 + sum);
            return (long) sum;
        };
    }

    /** A tree, or a leaf. */
    private static final class Node {
        private final Node left;
        private final Node right;
        private final long key;

        Node(Node left, Node right, long key) {
            this.left = left;
            this.right = right;
            this.key = key;
        }

        static Node between(long least, long most) {
            if (least > most) {
                return null;
            }
            long middle = (least + most) / 2;
            return new Node(between(least, middle - 1), between(middle + 1, most), middle);
        }

        int depthOf(long wanted) {
            Node below = wanted < key ? left : wanted > key ? right : null;
            return below == null ? 1 : 1 + below.depthOf(wanted);
        }
    }

    /** The target of a call depends on the object. */
    private abstract static class Shape {
        protected int side;

        Shape(int side) {
            this.side = side;
        }

        final void grow(int by) {
            side = side + by & 1023;
        }

        abstract long area();
    }

    private static final class Square extends Shape {
        Square(int side) {
            super(side);
        }

        @Override
        long area() {
            return (long) side * side;
        }
    }

    private static final class Ring extends Shape {
        Ring(int side) {
            super(side);
        }

        @Override
        long area() {
            return side > 2 ? 4L * side - 4 : side;
        }
    }

    private static final class Bar extends Shape {
        Bar(int side) {
            super(side);
        }

        @Override
        long area() {
            return side / 3;
        }
    }
}
