package org.regatta.bench.h2;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;
import org.regatta.bench.orders.OrderEntry;

/** {@code h2} of the suite {@code apps}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "h2",
                    "Two terminals run an order-entry transaction mix on an in-memory H2 database",
                    OrderEntry.MAX_SIZE,
                    () -> new OrderEntry(new H2Engine())));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
