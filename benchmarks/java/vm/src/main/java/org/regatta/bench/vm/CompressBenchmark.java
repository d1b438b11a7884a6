package org.regatta.bench.vm;

import java.util.Arrays;
import java.util.Random;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;
import org.regatta.bench.inputs.GeneratedText;

/** Compresses seeded text and expands it again; the output is the compressed stream. */
final class CompressBenchmark implements Benchmark {
    static final int MAX_SIZE = 2048;
    private static final int TEXT_BYTES_PER_SIZE = 512 * 1024;

    private byte[] text;
    private byte[] compressed;
    private byte[] expanded;

    @Override
    public void setup(int size, long seed) {
        text = GeneratedText.bytes(new Random(seed), size * TEXT_BYTES_PER_SIZE);
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        compressed = null;
        expanded = null;
    }

    @Override
    public long iterate(int iteration) {
        compressed = Lzw.compress(text);
        expanded = Lzw.expand(compressed, text.length);
        return compressed.length * 31L + expanded[expanded.length - 1];
    }

    @Override
    public void digest(OutputDigest out) throws WrongResultException {
        if (!Arrays.equals(text, expanded)) {
            throw new WrongResultException("compressed text differs after expansion");
        }
        out.put(compressed, compressed.length);
    }
}
