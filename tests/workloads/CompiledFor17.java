import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;

/** Compiled for release 17 when everything about it is for 11. */
final class CompiledFor17 implements Benchmark {
    @Override
    public void setup(int size, long seed) {}

    @Override
    public long iterate(int iteration) {
        return 1;
    }

    @Override
    public void digest(OutputDigest out) {
        out.put(1);
    }
}
