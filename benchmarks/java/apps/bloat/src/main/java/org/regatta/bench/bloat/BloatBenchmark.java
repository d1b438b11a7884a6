package org.regatta.bench.bloat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.util.CheckClassAdapter;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;

/**
 * Rewrites class files of a library in a seeded order: analyses each method, propagates constants, removes dead code,
 * and inserts instructions that count calls and loops. The output is the class files.
 */
final class BloatBenchmark implements Benchmark {
    static final int MAX_SIZE = 1000;
    private static final int CLASSES_PER_SIZE = 10;

    /** Interval of class files of the output to check. */
    private static final int CHECKED = 25;

    private List<byte[]> input;
    private List<byte[]> output;
    private Changes changes;

    /** Take the library's classes in a random order, each once before any repetition. */
    @Override
    public void setup(int size, long seed) throws IOException {
        Map<String, byte[]> library = Library.classFiles();
        Random random = new Random(seed);
        List<byte[]> left = new ArrayList<>();
        input = new ArrayList<>();
        while (input.size() < size * CLASSES_PER_SIZE) {
            if (left.isEmpty()) {
                left.addAll(library.values());
                Collections.shuffle(left, random);
            }
            input.add(left.remove(left.size() - 1));
        }
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        output = new ArrayList<>();
        changes = new Changes();
    }

    @Override
    public long iterate(int iteration) throws Exception {
        Rewriter rewriter = new Rewriter(changes);
        long bytes = 0;
        for (byte[] classFile : input) {
            byte[] rewritten = rewriter.rewrite(classFile);
            output.add(rewritten);
            bytes += rewritten.length;
        }
        return bytes;
    }

    @Override
    public void digest(OutputDigest out) throws WrongResultException {
        changes.digest(out);
        for (int i = 0; i < output.size(); i++) {
            if (i % CHECKED == 0) {
                check(output.get(i));
            }
            out.put(output.get(i), output.get(i).length);
        }
    }

    private static void check(byte[] classFile) throws WrongResultException {
        ClassReader reader = new ClassReader(classFile);
        try {
            reader.accept(new CheckClassAdapter(null, true), ClassReader.EXPAND_FRAMES);
        } catch (IllegalArgumentException | IllegalStateException e) {
            throw new WrongResultException(reader.getClassName() + " was rewritten wrongly: " + e.getMessage());
        }
    }
}
