package org.regatta.bench.micro;

import java.util.List;
import java.util.function.Supplier;
import org.regatta.bench.Benchmark;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;

/** The groups of operations of the suite {@code micro}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            entry("strings", "Methods of String", Strings::new),
            entry("builders", "Methods of StringBuilder and StringBuffer", Builders::new),
            entry("numbers", "Boxes, conversions, random and big numbers", Numbers::new),
            entry("collections", "Lists, maps, queues and arrays", Collections::new),
            entry("text", "Regular expressions, tokens, formats and charsets", Text::new),
            entry("io", "Streams, readers, writers and channels", InputOutput::new),
            entry("sockets", "TCP on the loopback interface", Sockets::new),
            entry("codes", "Checksums, digests and compression", Codes::new),
            entry("classes", "Loading of classes, and reflection", Classes::new),
            entry("compilers", "Compilation of methods by the JIT", Compilers::new),
            entry("exceptions", "Exceptions at several depths of the stack", Exceptions::new),
            entry("locks", "Locks and atomic numbers, with and without contention", Locks::new),
            entry("threads", "Threads, their start and their switch, and time", Threads::new),
            entry("own_code", "Work without system classes", OwnCode::new));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }

    /** @return a new group of that name, without its operations */
    static Group group(String name) {
        for (Entry entry : ENTRIES) {
            if (entry.name().equals(name)) {
                return (Group) entry.factory().get();
            }
        }
        throw new IllegalArgumentException(name);
    }

    private static Entry entry(String name, String description, Supplier<Benchmark> factory) {
        return new Entry(name, description, Group.MAX_SIZE, factory);
    }
}
