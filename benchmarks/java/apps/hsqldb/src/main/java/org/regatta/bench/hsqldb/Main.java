package org.regatta.bench.hsqldb;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;
import org.regatta.bench.orders.OrderEntry;

/** {@code hsqldb} of the suite {@code apps}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "hsqldb",
                    "Two terminals run an order-entry transaction mix on an in-memory HSQLDB database",
                    OrderEntry.MAX_SIZE,
                    () -> new OrderEntry(new HsqldbEngine())));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
