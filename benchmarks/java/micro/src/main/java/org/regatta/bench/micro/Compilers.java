package org.regatta.bench.micro;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import org.regatta.bench.Benchmark;
import org.regatta.bench.Measurement;
import org.regatta.bench.OutputDigest;

/**
 * The time of the JIT compilers per byte of bytecode: for the first code of a method, and for its later code.
 *
 * <p>An iteration calls the method of fresh copies of {@link Compiled} until it has its first code, and then until the
 * last compiler has compiled it. The JVM reports the time of its compilers.
 */
final class Compilers implements Benchmark {
    /** Its compilation takes some tens of milliseconds with the size 5. The JVM tells whole milliseconds. */
    private static final int COPIES_PER_SIZE = 60;
    /** With a long queue, the JVM compiles a method later. Between two rounds, the queue becomes empty. */
    private static final int ROUNDS = 4;
    /** Calls per round: HotSpot's first compiler starts after 200, its last one between 5000 and 15,000. */
    private static final int FIRST_CALLS = 500;

    private static final int LATER_CALLS = 10_000;
    /** Longer than a compilation: its time is known when it has ended. */
    private static final int SETTLED_MS = 20;

    private static final double NS_PER_MS = 1e6;

    /** Null if the JVM only interprets. */
    private final CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();

    private int copies;
    private List<Measurement> measured = List.of();

    @Override
    public void setup(int size, long seed) throws Exception {
        copies = size * COPIES_PER_SIZE;
        iterate(0);
    }

    @Override
    public long iterate(int iteration) throws Exception {
        Loop[] fresh = new Loop[copies];
        for (int copy = 0; copy < copies; copy++) {
            fresh[copy] = LoopCopies.copyOf(Compiled.class);
        }
        long before = settledMs();
        long sum = call(fresh, FIRST_CALLS);
        long first = settledMs();
        sum += call(fresh, LATER_CALLS);
        measured = List.of(measurement("jit_first", first - before), measurement("jit_again", settledMs() - first));
        return sum;
    }

    @Override
    public List<Measurement> measurements() {
        return measured;
    }

    /** No output: the time is that of the JVM. */
    @Override
    public void digest(OutputDigest out) {}

    private long call(Loop[] fresh, int calls) throws Exception {
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            for (Loop copy : fresh) {
                for (int call = 0; call < calls; call++) {
                    sum += copy.run(null, call);
                }
            }
            settledMs();
        }
        return sum;
    }

    /** @return the time of all compilations, when no more has ended for some time */
    private long settledMs() throws InterruptedException {
        long latest = compileMs();
        while (true) {
            Thread.sleep(SETTLED_MS);
            long now = compileMs();
            if (now == latest) {
                return now;
            }
            latest = now;
        }
    }

    private long compileMs() {
        boolean known = compiler != null && compiler.isCompilationTimeMonitoringSupported();
        return known ? compiler.getTotalCompilationTime() : 0;
    }

    /** A JVM without this compiler has only a limit: less than the JVM can tell. */
    private Measurement measurement(String operation, long ms) {
        double bytes = (double) copies * Compiled.BYTES;
        String metric = ms > 0 ? "latency" : "latency_at_most";
        return new Measurement(metric, Math.max(1, ms) * NS_PER_MS / bytes, "ns", Map.of("operation", operation));
    }
}
