package org.regatta.bench.gc;

import java.lang.ref.Reference;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.function.Function;
import java.util.function.IntFunction;

/** Full collections of other structures: by fan-in and fan-out, arrays, references, and classes. */
final class Shapes extends Grid {
    private static final int MOST_FAN = 8;
    private static final int[] FAN_OUTS = {0, 1, 2, 4, 8};
    /** Fan-in 1 is that of fan-out 0. */
    private static final int[] FAN_INS = {2, 8};

    private static final int[] LENGTHS = {8, 64, 1024};
    private static final int[] SMALL_BYTES = {16, 64, 256};
    private static final int[] LARGE_BYTES = {64 << 10, 1 << 20};
    private static final int[] CLASSES = {300, 1000};
    private static final int[] QUICK_CLASSES = {20};
    /** Part of the largest number of objects for structures of many references. */
    private static final int PART = 3;

    private static final int WARM_UPS = 3;
    private static final int TARGETS = 1024;
    private static final int ROOT_EVERY = 512;

    @Override
    void warmUp() throws Exception {
        NodeClasses.Sized sized = fan(MOST_FAN);
        int objects = mostObjects(sized.bytes) / PART;
        for (int i = 0; i < WARM_UPS; i++) {
            collectUnmeasured(() -> graph(sized.prototype, objects, MOST_FAN));
        }
    }

    @Override
    void measureAll() throws Exception {
        for (int fanOut : isQuick() ? new int[] {0, 2} : FAN_OUTS) {
            measureFanOut(fanOut);
        }
        for (int fanIn : isQuick() ? new int[] {2} : FAN_INS) {
            measureFanIn(fanIn);
        }
        for (int length : isQuick() ? new int[] {64} : LENGTHS) {
            measureReferenceArrays(length);
        }
        for (int length : isQuick() ? new int[] {64} : SMALL_BYTES) {
            measureBytes("small_bytes", length);
        }
        for (int length : isQuick() ? new int[] {64 << 10} : LARGE_BYTES) {
            measureBytes("large_bytes", length);
        }
        measureReferences("weak_live", WeakReference::new, true);
        measureReferences("weak_dead", WeakReference::new, false);
        measureReferences("soft_live", SoftReference::new, true);
        measureReferences("soft_only", SoftReference::new, false);
        for (int classes : isQuick() ? QUICK_CLASSES : CLASSES) {
            measureClasses(classes);
            measureCode(classes);
        }
    }

    /** @return nodes with this number of references, all of one size */
    private NodeClasses.Sized fan(int fanOut) {
        int bytes = nodes.least(MOST_FAN - 1).bytes;
        return nodes.ofSize(Math.max(0, fanOut - 1), bytes);
    }

    private void measureFanOut(int fanOut) throws Exception {
        NodeClasses.Sized sized = fan(fanOut);
        int objects = mostObjects(sized.bytes) / PART;
        int fanIn = Math.max(1, fanOut);
        Case of = structure("graph", sized.bytes, objects, (long) objects * fanIn)
                .with("length", 1)
                .with("fan_in", fanIn)
                .with("fan_out", fanOut);
        fullCollections(
                of, () -> graph(sized.prototype, objects, fanOut), fanOut == 0 ? Shapes::slots : Shapes::ring);
    }

    /**
     * Build nodes that refer to the {@code fanOut} next ones, the last to the first.
     *
     * @return arrays of all nodes if they refer to none; otherwise of some of them
     */
    private static Object graph(Node prototype, int objects, int fanOut) {
        Object[][] all = LinkedLists.chunks(objects);
        for (Object[] chunk : all) {
            for (int i = 0; i < chunk.length; i++) {
                chunk[i] = prototype.fresh();
            }
        }
        if (fanOut == 0) {
            return all;
        }
        Object[] targets = new Object[fanOut - 1];
        for (int i = 0; i < objects; i++) {
            Node node = (Node) at(all, i);
            node.next = (Node) at(all, (i + 1) % objects);
            for (int j = 0; j < targets.length; j++) {
                targets[j] = at(all, (i + 2 + j) % objects);
            }
            node.link(targets);
        }
        // As many roots as lists have heads.
        Object[][] roots = LinkedLists.chunks((objects + ROOT_EVERY - 1) / ROOT_EVERY);
        for (int i = 0; i < objects; i += ROOT_EVERY) {
            int root = i / ROOT_EVERY;
            roots[root / CHUNK][root % CHUNK] = at(all, i);
        }
        return roots;
    }

    /** @return number of nodes that follow each other, from the first root */
    private static long ring(Object roots) {
        Node first = (Node) ((Object[][]) roots)[0][0];
        long count = 1;
        for (Node node = first.next; node != first; node = node.next) {
            count++;
        }
        return count;
    }

    /** @return number of slots of the arrays */
    private static long slots(Object chunks) {
        long count = 0;
        for (Object[] chunk : (Object[][]) chunks) {
            count += chunk.length;
        }
        return count;
    }

    /** @return arrays with this number of objects */
    static Object[][] fill(int slots, IntFunction<Object> factory) {
        Object[][] chunks = LinkedLists.chunks(slots);
        for (int i = 0; i < slots; i++) {
            chunks[i / CHUNK][i % CHUNK] = factory.apply(i);
        }
        return chunks;
    }

    private static Object at(Object[][] chunks, int index) {
        return chunks[index / CHUNK][index % CHUNK];
    }

    private void measureFanIn(int fanIn) throws Exception {
        NodeClasses.Sized sized = fan(0);
        int objects = mostObjects(sized.bytes) / PART;
        Case of = structure("graph", sized.bytes, objects, (long) objects * fanIn)
                .with("length", 1)
                .with("fan_in", fanIn)
                .with("fan_out", 0);
        fullCollections(
                of,
                () -> {
                    Object[][] slots = LinkedLists.chunks(objects * fanIn);
                    for (int i = 0; i < objects * fanIn; i++) {
                        slots[i / CHUNK][i % CHUNK] =
                                i < objects ? sized.prototype.fresh() : at(slots, i - objects);
                    }
                    return slots;
                },
                structure -> slots(structure) / fanIn);
    }

    private void measureReferenceArrays(int length) throws Exception {
        int bytes = NodeClasses.sizeOf(() -> new Object[length]);
        int objects = Math.max(1, mostObjects(bytes) / PART);
        Case of = structure("reference_arrays", bytes, objects, (long) objects * (length + 1))
                .with("length", length)
                .with("fan_in", 1)
                .with("fan_out", length);
        Node prototype = nodes.least(0).prototype;
        fullCollections(
                of,
                () -> {
                    Node[] targets = new Node[TARGETS];
                    for (int i = 0; i < TARGETS; i++) {
                        targets[i] = prototype.fresh();
                    }
                    return fill(objects, i -> {
                        Object[] array = new Object[length];
                        for (int j = 0; j < length; j++) {
                            array[j] = targets[(i + j) % TARGETS];
                        }
                        return array;
                    });
                },
                Shapes::slots);
    }

    private void measureBytes(String shape, int length) throws Exception {
        int bytes = NodeClasses.sizeOf(() -> new byte[length]);
        int objects = mostObjects(bytes);
        Case of = array(shape, bytes, objects, length);
        fullCollections(of, () -> fill(objects, i -> new byte[length]), Shapes::slots);
    }

    private Case array(String shape, int bytes, int objects, int length) {
        return structure(shape, bytes, objects, objects)
                .with("length", length)
                .with("fan_in", 1)
                .with("fan_out", 0);
    }

    /** The objects are the references; each has a referent. */
    private void measureReferences(String shape, Function<Node, Reference<Node>> factory, boolean isLive)
            throws Exception {
        Node prototype = nodes.least(0).prototype;
        int bytes = NodeClasses.sizeOf(() -> factory.apply(prototype));
        int objects = mostObjects(bytes + nodes.least(0).bytes) / PART;
        Case of = structure(shape, bytes, objects, objects)
                .with("length", 1)
                .with("fan_in", 1)
                .with("fan_out", 1);
        fullCollections(
                of,
                () -> {
                    Object[][] referents = LinkedLists.chunks(objects);
                    Object[][] references = fill(objects, i -> {
                        Node referent = prototype.fresh();
                        if (isLive) {
                            referents[i / CHUNK][i % CHUNK] = referent;
                        }
                        return factory.apply(referent);
                    });
                    return new Object[] {references, referents};
                },
                structure -> slots(((Object[]) structure)[0]));
    }

    private void measureClasses(int classes) throws Exception {
        int bytes = NodeClasses.sizeOf(CompiledMethods::new);
        Case of = array("classes", bytes, classes, 1);
        fullCollections(of, () -> MachineCode.copies(classes, false), Shapes::slots);
    }

    /** Measure the machine code of classes: its bytes are known when it is there. */
    private void measureCode(int classes) throws Exception {
        long before = MachineCode.bytes();
        hold(() -> MachineCode.copies(classes, true));
        int bytes = NodeClasses.sizeOf(CompiledMethods::new);
        Case of = array("code", bytes, classes, 1);
        check(of, classes, slots(held));
        long compiled = MachineCode.bytes() - before;
        if (compiled <= 0) {
            System.err.println("not measured: this JVM does not compile");
        } else {
            add("code", compiled, "bytes", of.parameters());
            System.gc();
            collect(of, "live");
        }
        clear();
    }
}
