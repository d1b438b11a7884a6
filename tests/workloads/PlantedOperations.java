package org.regatta.bench.micro;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** Operations of known cost, measured as those of the system classes are. */
public final class PlantedOperations extends Group {
    private static final String TEXT = "text";

    public static void main(String[] args) {
        Harness.main(args, List.of(new Entry("planted", "Known costs", MAX_SIZE, PlantedOperations::new)));
    }

    @Override
    void addOperations() throws Exception {
        value("nothing", i -> i);
        object("no_object", i -> TEXT);
        value("unused_result", i -> {
            Math.sqrt(i);
            return i;
        });
        long[] calls = new long[1];
        opened(() -> System.err.println("counted: " + calls[0] + " calls"));
        value("counted", i -> {
            calls[0]++;
            return spin(20_000);
        });
        values("spin", "ns", new int[] {2000, 20_000}, ns -> i -> spin(ns));
        value("prepared", i -> spin(4000) + spin(2000), i -> spin(4000));
    }

    private static long spin(long ns) {
        long start = System.nanoTime();
        long now = start;
        while (now - start < ns) {
            now = System.nanoTime();
        }
        return now;
    }
}
