package org.regatta.bench.vm.mpegaudio;

import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * A prefix code for groups of small values, built from a geometric distribution of the values: the tables of the
 * standard have the same shape, but were derived from recordings.
 *
 * <p>Source: D. A. Huffman, A Method for the Construction of Minimum-Redundancy Codes, Proc. IRE 40(9), 1952.
 */
final class HuffmanTable {
    /** From this value on, values are written as this one and the remainder in {@code linBits}. */
    static final int ESCAPE = 15;

    /** For pairs of values; the first one is for zeros only, and writes no bits. */
    static final HuffmanTable[] PAIRS = {
        new HuffmanTable(2, 0, 0, 1),
        new HuffmanTable(2, 1, 0, 0.45),
        new HuffmanTable(2, 2, 0, 0.5),
        new HuffmanTable(2, 3, 0, 0.55),
        new HuffmanTable(2, 5, 0, 0.65),
        new HuffmanTable(2, 7, 0, 0.72),
        new HuffmanTable(2, ESCAPE, 0, 0.82),
        new HuffmanTable(2, ESCAPE, 5, 0.88),
        new HuffmanTable(2, ESCAPE, 13, 0.93),
    };

    /** For groups of four values of at most 1: for rare and for frequent ones. */
    static final HuffmanTable[] QUADS = {new HuffmanTable(4, 1, 0, 0.25), new HuffmanTable(4, 1, 0, 0.7)};

    private final int group;
    private final int largest;
    private final int linBits;
    private final int[] codes;
    private final int[] lengths;

    /**
     * Two entries per node: the targets of bit 0 and bit 1; a negative number is a leaf, the complement of its symbol.
     */
    private final int[] tree;

    private int nodes;

    /**
     * @param group number of values per code word
     * @param largest largest value with its own code words
     * @param linBits bits for the remainder of larger values
     * @param ratio probability ratio of consecutive values, from 0 to 1
     */
    private HuffmanTable(int group, int largest, int linBits, double ratio) {
        this.group = group;
        this.largest = largest;
        this.linBits = linBits;
        int symbols = 1;
        for (int i = 0; i < group; i++) {
            symbols *= largest + 1;
        }
        codes = new int[symbols];
        lengths = new int[symbols];
        tree = new int[2 * symbols];
        Node root = root(symbols, ratio);
        if (symbols > 1) {
            enter(root, 0, 0);
        }
    }

    private static final class Node {
        private final double weight;
        private final int order;
        private final Node zero;
        private final Node one;

        Node(double weight, int order, Node zero, Node one) {
            this.weight = weight;
            this.order = order;
            this.zero = zero;
            this.one = one;
        }
    }

    private Node root(int symbols, double ratio) {
        PriorityQueue<Node> queue = new PriorityQueue<>(
                Comparator.comparingDouble((Node node) -> node.weight).thenComparingInt(node -> node.order));
        for (int symbol = 0; symbol < symbols; symbol++) {
            double weight = 1;
            for (int rest = symbol; rest > 0; rest /= largest + 1) {
                for (int value = rest % (largest + 1); value > 0; value--) {
                    weight *= ratio;
                }
            }
            queue.add(new Node(weight, symbol, null, null));
        }
        for (int order = symbols; queue.size() > 1; order++) {
            Node zero = queue.remove();
            Node one = queue.remove();
            queue.add(new Node(zero.weight + one.weight, order, zero, one));
        }
        return queue.remove();
    }

    /** @return the reference to the node in the tree */
    private int enter(Node node, int code, int length) {
        if (node.zero == null) {
            codes[node.order] = code;
            lengths[node.order] = length;
            return ~node.order;
        }
        int place = nodes++;
        tree[2 * place] = enter(node.zero, code << 1, length + 1);
        tree[2 * place + 1] = enter(node.one, code << 1 | 1, length + 1);
        return place;
    }

    /** Whether values up to this one can be written. */
    boolean reaches(int value) {
        return value <= largest || linBits > 0 && value < ESCAPE + (1 << linBits);
    }

    /** @return number of bits for the group of values at {@code at} */
    int bits(int[] values, int at) {
        int bits = lengths[symbol(values, at)];
        for (int i = at; i < at + group; i++) {
            int size = Math.abs(values[i]);
            bits += (size > 0 ? 1 : 0) + (linBits > 0 && size >= ESCAPE ? linBits : 0);
        }
        return bits;
    }

    void write(int[] values, int at, Bits.Writer out) {
        int symbol = symbol(values, at);
        out.write(codes[symbol], lengths[symbol]);
        for (int i = at; i < at + group; i++) {
            int size = Math.abs(values[i]);
            if (linBits > 0 && size >= ESCAPE) {
                out.write(size - ESCAPE, linBits);
            }
            if (size > 0) {
                out.write(values[i] < 0 ? 1 : 0, 1);
            }
        }
    }

    void read(int[] values, int at, Bits.Reader in) {
        int symbol = 0;
        if (codes.length > 1) {
            int place = 0;
            do {
                place = tree[2 * place + in.readBit()];
            } while (place >= 0);
            symbol = ~place;
        }
        for (int i = at + group - 1; i >= at; i--) {
            values[i] = symbol % (largest + 1);
            symbol /= largest + 1;
        }
        for (int i = at; i < at + group; i++) {
            if (linBits > 0 && values[i] == ESCAPE) {
                values[i] += in.read(linBits);
            }
            if (values[i] > 0 && in.readBit() == 1) {
                values[i] = -values[i];
            }
        }
    }

    private int symbol(int[] values, int at) {
        int symbol = 0;
        for (int i = at; i < at + group; i++) {
            symbol = symbol * (largest + 1) + Math.min(largest, Math.abs(values[i]));
        }
        return symbol;
    }
}
