package org.regatta.bench.gc;

import java.util.Random;

/** Arrays of linked lists. */
final class LinkedLists {
    private LinkedLists() {}

    /**
     * Build lists whose order in memory is the order of the links.
     *
     * @param objects total number
     * @param length objects of a list; the last list may be shorter
     * @return the heads, in arrays of {@link Grid#CHUNK}
     */
    static Object[][] inOrder(Node prototype, int objects, int length) {
        Object[][] heads = chunks((objects + length - 1) / length);
        int rest = objects;
        for (Object[] chunk : heads) {
            for (int i = 0; i < chunk.length; i++) {
                Node last = prototype.fresh();
                chunk[i] = last;
                rest--;
                for (int j = 1; j < length && rest > 0; j++, rest--) {
                    Node node = prototype.fresh();
                    last.next = node;
                    last = node;
                }
            }
        }
        return heads;
    }

    /** Build lists whose order in memory is random. */
    static Object[][] shuffled(Node prototype, int objects, int length, long seed) {
        Node[] all = new Node[objects];
        for (int i = 0; i < objects; i++) {
            all[i] = prototype.fresh();
        }
        Random random = new Random(seed);
        for (int i = objects - 1; i > 0; i--) {
            int other = random.nextInt(i + 1);
            Node node = all[i];
            all[i] = all[other];
            all[other] = node;
        }
        Object[][] heads = chunks((objects + length - 1) / length);
        for (int i = 0; i < objects; i++) {
            if (i % length == 0) {
                int list = i / length;
                heads[list / Grid.CHUNK][list % Grid.CHUNK] = all[i];
            } else {
                all[i - 1].next = all[i];
            }
        }
        return heads;
    }

    static void dropEverySecond(Object structure) {
        for (Object[] chunk : (Object[][]) structure) {
            for (int i = 1; i < chunk.length; i += 2) {
                chunk[i] = null;
            }
        }
    }

    /** @return number of objects in all lists */
    static long count(Object structure) {
        long count = 0;
        for (Object[] chunk : (Object[][]) structure) {
            for (Object head : chunk) {
                for (Node node = (Node) head; node != null; node = node.next) {
                    count++;
                }
            }
        }
        return count;
    }

    /** @return arrays with this number of slots */
    static Object[][] chunks(int slots) {
        Object[][] chunks = new Object[(slots + Grid.CHUNK - 1) / Grid.CHUNK][];
        for (int i = 0; i < chunks.length; i++) {
            chunks[i] = new Object[Math.min(Grid.CHUNK, slots - i * Grid.CHUNK)];
        }
        return chunks;
    }
}
