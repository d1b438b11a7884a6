package org.regatta.bench.gc;

import java.util.Map;
import java.util.Random;
import org.regatta.bench.Collected;
import org.regatta.bench.WrongResultException;

/**
 * A program with a live structure, alone and next to a thread that allocates and requests collections without a pause.
 * The slowdown shows the cost of concurrent collections, which no pause contains.
 */
final class Mutator extends Grid {
    /** The heap is divided by these: bytes of the live structure. */
    private static final int[] PARTS = {16, 4};

    private static final int BYTES = 64;
    private static final int UNITS = 2_000_000;
    private static final int QUICK_UNITS = 50_000;
    /** Collectors that stop the program leave it little time: then the work is cut short. */
    private static final long MOST_NS = 1_000_000_000;

    private static final int UNITS_PER_CLOCK = 1000;
    private static final int READ_PER_UNIT = 4;
    private static final int GARBAGE_BYTES = 1 << 16;
    private static final int GARBAGE_PER_COLLECTION = 16;
    private static final int WARM_UPS = 3;

    @Override
    void warmUp() throws Exception {
        NodeClasses.Sized sized = nodes.ofSize(0, BYTES);
        for (int i = 0; i < WARM_UPS; i++) {
            Object[][] table = table(sized, PARTS[0]);
            held = table;
            work(table, sized.prototype, 0);
        }
        clear();
    }

    @Override
    void measureAll() throws Exception {
        NodeClasses.Sized sized = nodes.ofSize(0, BYTES);
        for (int part : isQuick() ? new int[] {PARTS[0]} : PARTS) {
            Object[][] table = table(sized, part);
            held = table;
            System.gc();
            System.gc();
            long objects = objects(sized, part);
            Case of = structure("table", sized.bytes, objects, objects)
                    .with("length", 1)
                    .with("fan_in", 1)
                    .with("fan_out", 0);
            measure(of, "alone", table, sized.prototype, 0);
            Requests requests = new Requests();
            try {
                measure(of, "collecting", table, sized.prototype, 1);
            } finally {
                requests.end();
            }
            clear();
        }
    }

    /** @param least number of collections that the work lasts for */
    private void measure(Case of, String moment, Object[][] table, Node prototype, int least) throws Exception {
        watch().start();
        long collections = watch().collections();
        long ns = System.nanoTime();
        long units = work(table, prototype, collections + least);
        ns = System.nanoTime() - ns;
        collections = watch().collections() - collections;
        Collected window = watch().stop();
        Map<String, Object> parameters = of.parameters();
        parameters.put("moment", moment);
        add("work", (double) ns / units, "ns", parameters);
        add("work_units", units, "count", parameters);
        add("work_collections", collections, "count", parameters);
        if (!window.pauses().isEmpty()) {
            report(window, parameters);
        }
    }

    private int units() {
        return isQuick() ? QUICK_UNITS : UNITS;
    }

    private static int objects(NodeClasses.Sized sized, int part) {
        return (int) (Runtime.getRuntime().maxMemory() / part / sized.bytes);
    }

    private static Object[][] table(NodeClasses.Sized sized, int part) {
        Object[][] table = LinkedLists.chunks(objects(sized, part));
        for (Object[] chunk : table) {
            for (int i = 0; i < chunk.length; i++) {
                chunk[i] = sized.prototype.fresh();
            }
        }
        return table;
    }

    /**
     * Replace one node and read others, many times.
     *
     * @param collections continue until the JVM has counted this number
     * @return number of units done
     */
    private long work(Object[][] table, Node prototype, long collections) throws WrongResultException {
        Random random = new Random(seed());
        // The last chunk may be shorter.
        int chunks = table.length - 1;
        long end = System.nanoTime() + MOST_NS;
        long read = 0;
        long units = 0;
        while ((units < units() || watch().collections() < collections) && System.nanoTime() < end) {
            for (int i = 0; i < UNITS_PER_CLOCK; i++) {
                table[random.nextInt(chunks)][i] = prototype.fresh();
                for (int j = 0; j < READ_PER_UNIT; j++) {
                    Node node = (Node) table[random.nextInt(chunks)][(i + j) % CHUNK];
                    read += node.next == null ? 1 : 0;
                }
            }
            units += UNITS_PER_CLOCK;
        }
        check("table", units * READ_PER_UNIT, read);
        return units;
    }

    /** A thread that allocates and requests collections. */
    private static final class Requests {
        private volatile boolean isEnded;
        private final Thread thread = new Thread(this::run, "requests");

        Requests() {
            thread.start();
        }

        private void run() {
            Object[] garbage = new Object[GARBAGE_PER_COLLECTION];
            while (!isEnded) {
                for (int i = 0; i < garbage.length; i++) {
                    garbage[i] = new byte[GARBAGE_BYTES];
                }
                System.gc();
            }
        }

        void end() throws InterruptedException {
            isEnded = true;
            thread.join();
        }
    }
}
