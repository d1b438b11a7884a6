package org.regatta.bench.micro;

/**
 * Work without system classes: array elements, fields, branches, and calls whose target varies. Its cost scales the time
 * of an application's own code from one JVM to another.
 */
final class OwnCode extends Group {
    private static final int SIZE = 64;

    @Override
    void addOperations() throws Exception {
        int[] keys = new int[SIZE];
        Shape[] shapes = new Shape[SIZE];
        for (int i = 0; i < SIZE; i++) {
            keys[i] = i * 7919 % 1009;
            shapes[i] = i % 3 == 0 ? new Square(i) : i % 3 == 1 ? new Ring(i) : new Bar(i);
        }
        value("user_work", i -> {
            int place = sift(keys, (int) i & SIZE - 1, (int) (i * 31 & 1023));
            Shape shape = shapes[place];
            shape.grow(keys[place]);
            return shape.area() + place;
        });
    }

    /** Replaces a key, and moves it in a heap of numbers until its parent is less. */
    private static int sift(int[] keys, int at, int key) {
        int place = at;
        while (place > 0) {
            int parent = (place - 1) / 2;
            if (keys[parent] <= key) {
                break;
            }
            keys[place] = keys[parent];
            place = parent;
        }
        keys[place] = key;
        return place;
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
