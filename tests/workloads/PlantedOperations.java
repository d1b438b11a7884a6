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
        values("spin", "ns", new int[] {2000, 20_000}, ns -> i -> {
            long start = System.nanoTime();
            long now = start;
            while (now - start < ns) {
                now = System.nanoTime();
            }
            return now;
        });
    }
}
