package org.regatta.bench.vm.mtrt;

import java.util.Random;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;

/**
 * Two threads trace the rays of a seeded scene, alternate lines each; the output is the image.
 *
 * <p>Stresses: allocation of short-lived small objects by two concurrent threads, with a long-lived scene; floating
 * point, recursion and virtual calls.
 */
public final class MtrtBenchmark implements Benchmark {
    public static final int MAX_SIZE = 2000;
    private static final int PIXELS_PER_SIZE = 6000;

    /** Fixed, independent of the number of processors: the same work on all machines. */
    private static final int THREADS = 2;

    /** Number of pixels to trace again without the tree, as a check. */
    private static final int CHECKED_PIXELS = 200;

    /** Kept alive over the iterations: some JVMs do not count the allocations of ended threads. */
    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS, MtrtBenchmark::daemon);

    private Scene scene;
    private int width;
    private int height;
    private int[] image;

    @Override
    public void setup(int size, long seed) {
        // The aspect ratio is 4:3.
        height = (int) Math.sqrt(size * PIXELS_PER_SIZE * 3L / 4);
        width = height * 4 / 3;
        scene = new Scene(new Random(seed), 8 + 8 * (int) Math.sqrt(size));
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        image = null;
    }

    @Override
    public long iterate(int iteration) throws Exception {
        image = new int[width * height];
        Tracer tracer = new Tracer(new BoxTree(scene.shapes()), scene.lamps());
        CompletionService<Void> ends = new ExecutorCompletionService<>(threads);
        for (int i = 0; i < THREADS; i++) {
            int first = i;
            ends.submit(() -> trace(tracer, first), null);
        }
        for (int i = 0; i < THREADS; i++) {
            try {
                ends.take().get();
            } catch (ExecutionException e) {
                throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
            }
        }
        long sum = 0;
        for (int pixel : image) {
            sum = 31 * sum + pixel;
        }
        return sum;
    }

    @Override
    public void digest(OutputDigest out) throws WrongResultException {
        Tracer slow = new Tracer(Space.ofAll(scene.shapes()), scene.lamps());
        for (int i = 0; i < CHECKED_PIXELS; i++) {
            // Spread over lines and columns.
            int at = (int) ((2L * i + 1) * image.length / (2 * CHECKED_PIXELS)) + i * 7 % width;
            int expected = slow.pixel(at % image.length % width, at % image.length / width, width, height);
            if (image[at % image.length] != expected) {
                throw new WrongResultException("pixel " + at % image.length + ": expected 0x"
                        + Integer.toHexString(expected) + ", got 0x" + Integer.toHexString(image[at % image.length]));
            }
        }
        out.put(width).put(height);
        for (int pixel : image) {
            out.put(pixel);
        }
    }

    @Override
    public void teardown() {
        threads.shutdown();
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "tracer");
        thread.setDaemon(true);
        return thread;
    }

    private void trace(Tracer tracer, int firstLine) {
        for (int line = firstLine; line < height; line += THREADS) {
            for (int column = 0; column < width; column++) {
                image[line * width + column] = tracer.pixel(column, line, width, height);
            }
        }
    }
}
