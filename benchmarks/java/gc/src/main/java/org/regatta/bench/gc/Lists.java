package org.regatta.bench.gc;

import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;

/** Full collections of linked lists: by size and number of objects, length, and order in memory. */
final class Lists extends Grid {
    private static final int[] SIZES = {16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 128, 256, 1024};
    private static final int[] QUICK_SIZES = {24, 64};
    private static final int LENGTH = 512;
    /** Few long lists limit how many threads can mark them. */
    private static final int[] OTHER_LENGTHS = {1, 16, 4096};

    /** The largest number of objects is divided by these. */
    private static final int[] PARTS = {4, 2, 1};

    private static final int SIZE_OF_OTHERS = 32;
    private static final int[] SOME_SIZES = {32, 256};
    /** Bytes in which the order of the links is random: from those that fit a cache to the largest structure. */
    private static final int[] SHUFFLED_BYTES = {1 << 20, 4 << 20, 16 << 20};
    /** Lists of one object are a table: the processor can follow several references at a time. */
    private static final int TABLE = 1;
    private static final int WARM_UPS = 3;

    @Override
    void warmUp() throws Exception {
        NodeClasses.Sized sized = nodes.ofSize(0, SIZE_OF_OTHERS);
        int objects = mostObjects(sized.bytes);
        for (int i = 0; i < WARM_UPS; i++) {
            collectUnmeasured(() -> LinkedLists.inOrder(sized.prototype, objects, LENGTH));
        }
    }

    @Override
    void measureAll() throws Exception {
        Set<Integer> seen = new HashSet<>();
        for (int bytes : isQuick() ? QUICK_SIZES : SIZES) {
            NodeClasses.Sized sized = nodes.ofSize(0, bytes);
            // Without compressed references, the smallest size does not exist.
            if (sized != null && seen.add(sized.bytes)) {
                int most = mostObjects(sized.bytes);
                for (int part : PARTS) {
                    measure(sized, Math.max(1, most / part), LENGTH);
                }
            }
        }
        NodeClasses.Sized other = nodes.ofSize(0, SIZE_OF_OTHERS);
        for (int length : OTHER_LENGTHS) {
            measure(other, mostObjects(other.bytes), length);
        }
        for (int bytes : isQuick() ? new int[] {SIZE_OF_OTHERS} : SOME_SIZES) {
            NodeClasses.Sized sized = nodes.ofSize(0, bytes);
            measureSparse(sized, mostObjects(sized.bytes));
            Set<Integer> numbers = new LinkedHashSet<>();
            for (int bytesOfAll : SHUFFLED_BYTES) {
                numbers.add(Math.min(mostObjects(sized.bytes), bytesOfAll / sized.bytes));
            }
            for (int objects : numbers) {
                measureShuffled(sized, objects, LENGTH);
                measureShuffled(sized, objects, TABLE);
            }
        }
    }

    private void measureShuffled(NodeClasses.Sized sized, int objects, int length) throws Exception {
        Builder shuffled = () -> LinkedLists.shuffled(sized.prototype, objects, length, seed());
        measure("shuffled", sized, objects, length, shuffled);
    }

    private void measure(NodeClasses.Sized sized, int objects, int length) throws Exception {
        measure("list", sized, objects, length, () -> LinkedLists.inOrder(sized.prototype, objects, length));
    }

    /** Drop every second list, so that a collector that compacts has to move the others. */
    private void measureSparse(NodeClasses.Sized sized, int objects) throws Exception {
        Case of = of("sparse", sized, objects, LENGTH);
        hold(() -> LinkedLists.inOrder(sized.prototype, objects, LENGTH));
        System.gc();
        System.gc();
        LinkedLists.dropEverySecond(held);
        collect(of, "half_dead");
        collect(of, "half_live");
        clear();
    }

    private void measure(String shape, NodeClasses.Sized sized, int objects, int length, Builder builder)
            throws Exception {
        Case of = of(shape, sized, objects, length);
        fullCollections(of, builder, LinkedLists::count);
    }

    private Case of(String shape, NodeClasses.Sized sized, int objects, int length) {
        return structure(shape, sized.bytes, objects, objects)
                .with("length", length)
                .with("fan_in", 1)
                .with("fan_out", 1);
    }
}
