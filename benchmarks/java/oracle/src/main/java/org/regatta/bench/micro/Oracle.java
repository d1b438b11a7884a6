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
    /**
     * Group, operation and the value of its argument: {@code strings/string_equals/16}. The prefix {@code baseline:} selects
     * its loop without the measured call.
     */
    @Param({""})
    public String operation;

    private Group group;
    private ValueOperation value;
    private ObjectOperation object;
    private long i;

    /** Create the operation. */
    @Setup
    public void make() throws Exception {
        String[] words = operation.substring(operation.indexOf(':') + 1).split("/");
        group = Main.group(words[0]);
        Timed found = group.find(words[1], words.length > 2 ? Integer.valueOf(words[2]) : null);
        Object chosen = operation.startsWith("baseline:") ? group.baselineOf(found) : found.operation();
        if (found.isOfValues()) {
            value = (ValueOperation) chosen;
        } else {
            object = (ObjectOperation) chosen;
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
