package org.regatta.bench.gc;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.regatta.bench.Collected;

/**
 * Young collections: by the survivors and their age, and by the references of old arrays to young objects. Collectors
 * without young collections that stop the program report nothing.
 */
final class Young extends Grid {
    private static final int[] SIZES = {16, 32, 64, 256};
    /** The heap is divided by these: bytes of the survivors. */
    private static final int[] PARTS = {64, 32, 16};
    /** With -XX:MaxTenuringThreshold=15, the last collection finds all survivors in the old generation. */
    private static final int MOST_AGE = 17;

    private static final int SHORT_AGE = 3;
    private static final int LENGTH = 512;
    private static final int TABLE = 1;
    private static final int[] LARGE_BYTES = {1 << 10, 4 << 10, 64 << 10};
    private static final int[] DIRTY = {0, 64, 1024, 16_384};
    private static final int SLOTS = 1 << 18;
    private static final int GARBAGE_BYTES = 512;
    /** Objects between two looks at the number of collections. */
    private static final int GARBAGE_OBJECTS = 64;

    private static final int WARM_UPS = 20;
    private static final Pattern OLD = Pattern.compile(".*(?:Old|Tenured) Gen");
    private static final Pattern EDEN = Pattern.compile(".*Eden Space");

    private int skipped;

    @Override
    void warmUp() throws Exception {
        for (int i = 0; i < WARM_UPS && isPossible(); i++) {
            allocateToCollection();
        }
        if (!isPossible()) {
            System.err.println("not measured: this collector has no young collections that stop the program");
        }
    }

    private boolean isPossible() {
        return watch().youngCollections() >= 0;
    }

    @Override
    void measureAll() throws Exception {
        if (!isPossible()) {
            return;
        }
        add("eden", pool(EDEN).getUsage().getCommitted(), "bytes", Map.of());
        skipped = 0;
        measureSurvivors(structure("none", 0, 0, 0), () -> null, SHORT_AGE);
        for (int bytes : isQuick() ? new int[] {64} : SIZES) {
            NodeClasses.Sized sized = nodes.ofSize(0, bytes);
            if (sized != null) {
                measureLists(sized);
            }
        }
        for (int bytes : isQuick() ? new int[] {4 << 10} : LARGE_BYTES) {
            measureArrays(bytes);
        }
        for (int dirty : isQuick() ? new int[] {0, 1024} : DIRTY) {
            measureDirty(dirty);
        }
        if (skipped > 0) {
            System.err.println("excluded: " + skipped + " collections that were not one young pause");
        }
    }

    private void measureLists(NodeClasses.Sized sized) throws Exception {
        int ages = isQuick() ? SHORT_AGE : MOST_AGE;
        for (int objects : numbers(sized.bytes)) {
            Case of = of("list", sized.bytes, objects, LENGTH);
            measureSurvivors(of, () -> LinkedLists.inOrder(sized.prototype, objects, LENGTH), ages);
            ages = SHORT_AGE;
            for (int length : new int[] {LENGTH, TABLE}) {
                Builder shuffled = () -> LinkedLists.shuffled(sized.prototype, objects, length, seed());
                measureSurvivors(of("shuffled", sized.bytes, objects, length), shuffled, SHORT_AGE);
            }
        }
    }

    private void measureArrays(int length) throws Exception {
        int bytes = NodeClasses.sizeOf(() -> new byte[length]);
        for (int objects : numbers(bytes)) {
            Case of = of("bytes", bytes, objects, 1);
            measureSurvivors(of, () -> Shapes.fill(objects, i -> new byte[length]), SHORT_AGE);
        }
    }

    private Case of(String shape, int bytesEach, int objects, int length) {
        return structure(shape, bytesEach, objects, objects)
                .with("length", length)
                .with("fan_in", 1)
                .with("fan_out", 1);
    }

    /** @return numbers of objects, from the least */
    private Set<Integer> numbers(int bytesEach) {
        Set<Integer> numbers = new LinkedHashSet<>();
        for (int part : PARTS) {
            long bytes = Runtime.getRuntime().maxMemory() / part;
            numbers.add((int) Math.max(1, Math.min(mostObjects(bytesEach), bytes / bytesEach)));
        }
        return numbers;
    }

    /** Measure the next young collections of a structure that is new. */
    private void measureSurvivors(Case of, Builder builder, int ages) throws Exception {
        boolean isNew = hold(builder);
        for (int age = 1; age <= ages && isNew; age++) {
            measureNext(of.parameters(), age);
        }
        skipped += isNew ? 0 : 1;
        clear();
    }

    /** Measure young collections that find references from old arrays. */
    private void measureDirty(int dirty) throws Exception {
        Object[][] slots = LinkedLists.chunks(SLOTS);
        held = slots;
        System.gc();
        System.gc();
        NodeClasses.Sized target = nodes.least(0);
        int distance = dirty == 0 ? 0 : SLOTS / dirty;
        Map<String, Object> parameters = structure("old_array", target.bytes, dirty == 0 ? 0 : 1, dirty)
                .with("length", SLOTS)
                .with("dirty", dirty)
                .parameters();
        // After a full collection, the first young one visits more than the slots that were written since.
        allocateToCollection();
        Node young = target.prototype.fresh();
        for (int i = 0; i < dirty; i++) {
            slots[i * distance / CHUNK][i * distance % CHUNK] = young;
        }
        measureNext(parameters, 1);
        clear();
    }

    private void measureNext(Map<String, Object> parameters, int age) throws Exception {
        long old = pool(OLD).getUsage().getUsed();
        long collections = watch().collections();
        watch().start();
        allocateToCollection();
        Collected window = watch().stop();
        boolean isOne = watch().collections() == collections + 1;
        if (!isOne || window.safepoints() != 1 || !window.pauses().keySet().stream().allMatch(Young::isYoung)) {
            skipped++;
            return;
        }
        Map<String, Object> ofAge = new LinkedHashMap<>(parameters);
        ofAge.put("age", age);
        ofAge.put("moment", "young");
        report(window, ofAge);
        add("promoted", Math.max(0, pool(OLD).getUsage().getUsed() - old), "bytes", ofAge);
    }

    private static boolean isYoung(String kind) {
        return kind.startsWith("Pause Young");
    }

    /** Allocate garbage until a collection has happened. */
    private void allocateToCollection() {
        long before = watch().collections();
        while (watch().collections() == before) {
            for (int i = 0; i < GARBAGE_OBJECTS; i++) {
                latest = new byte[GARBAGE_BYTES];
            }
        }
    }

    private static MemoryPoolMXBean pool(Pattern name) {
        return ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> name.matcher(pool.getName()).matches())
                .findFirst()
                .orElseThrow(IllegalStateException::new);
    }
}
