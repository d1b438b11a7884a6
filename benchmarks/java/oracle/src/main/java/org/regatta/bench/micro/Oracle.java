package org.regatta.bench.micro;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Runs the operations of the suite {@code micro} in JMH loops, each in a separate JVM. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Oracle {
    /** Group, operation and the value of its argument, or empty for the empty loop: {@code strings/string_equals/16} */
    @Param({""})
    public String operation;

    private Group group;
    private ValueOperation value;
    private ObjectOperation object;
    private long i;

    /** Create the operation. */
    @Setup
    public void make() throws Exception {
        if (operation.isEmpty()) {
            value = number -> number;
            object = number -> this;
            return;
        }
        String[] words = operation.split("/");
        group = Main.group(words[0]);
        Timed found = group.find(words[1], words.length > 2 ? Integer.valueOf(words[2]) : null);
        if (found.isOfValues()) {
            value = (ValueOperation) found.operation();
        } else {
            object = (ObjectOperation) found.operation();
        }
    }

    /** Release the resources of the group. */
    @TearDown
    public void close() throws Exception {
        if (group != null) {
            group.teardown();
        }
    }

    /** An operation whose result is a number. */
    @Benchmark
    public long value() throws Exception {
        return value.run(i++);
    }

    /** An operation whose result is an object. */
    @Benchmark
    public Object object() throws Exception {
        return object.run(i++);
    }
}
