import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.Random;
import org.regatta.bench.Meters;

/**
 * {@code Heap MODE COUNT}: allocates known numbers of objects, whose sizes nothing else of the JVM uses much.
 *
 * <p>All objects are stored where other threads can see them, so that no compiler removes them.
 */
public final class Heap {
    /** With a header of 12 or 16 bytes, and alignment: 216, 224, 232, 240 and 248 bytes. */
    static class Kept {
        long a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y;
    }

    static final class Dropped extends Kept {
        long z;
    }

    static class OfThread extends Kept {
        long y1, y2;
    }

    static class Weak extends OfThread {
        long x1;
    }

    static final class Soft extends Weak {
        long w1;
    }

    static final int RING = 4096;
    static final int LARGE_LENGTH = 1_000_003;

    public static volatile Object[] kept;
    public static final Object[] SINK = new Object[8];
    public static final Object[] REFERENCES = new Object[64];

    private Heap() {}

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[1]);
        switch (args[0]) {
            case "known":
                known(count);
                break;
            case "threads":
                threads(count);
                break;
            case "ages":
                ages(count);
                break;
            case "order":
                order(count);
                break;
            case "jumps":
                jumps(count);
                break;
            case "collections":
                for (int i = 0; i < count; i++) {
                    System.gc();
                }
                break;
            default:
                throw new IllegalArgumentException(args[0]);
        }
    }

    /** Start an iteration without garbage; the array is alive from now on. */
    private static Object[] start(int count) {
        Object[] all = new Object[count];
        kept = all;
        System.gc();
        Meters.start();
        return all;
    }

    /** Iteration 0 keeps and drops objects; iteration 1 drops half of those that were kept. */
    private static void known(int count) {
        Object[] all = start(count);
        for (int i = 0; i < count; i++) {
            all[i] = new Kept();
        }
        for (int i = 0; i < 3 * count; i++) {
            SINK[i & 7] = new Dropped();
        }
        for (int i = 0; i < 8; i++) {
            SINK[i] = null;
        }
        for (int i = 0; i < 5; i++) {
            SINK[0] = new byte[LARGE_LENGTH];
        }
        SINK[0] = null;
        for (int i = 0; i < 16; i++) {
            REFERENCES[i] = new WeakReference<Object>(new Weak());
            REFERENCES[16 + i] = new SoftReference<Object>(new Soft());
        }
        Meters.stop();
        Meters.start();
        for (int i = 0; i < count / 2; i++) {
            all[i] = null;
        }
        Meters.stop();
    }

    /** The order of an array is that of the births of its objects in iteration 0, and another one in iteration 1. */
    private static void order(int count) {
        Object[] all = start(count);
        for (int i = 0; i < count; i++) {
            all[i] = new Kept();
        }
        Meters.stop();
        Meters.start();
        Random random = new Random(1);
        for (int i = count - 1; i > 0; i--) {
            int other = random.nextInt(i + 1);
            Object each = all[i];
            all[i] = all[other];
            all[other] = each;
        }
        Meters.stop();
    }

    /** Half of the live objects lie next to each other, half of them between dead ones. */
    private static void jumps(int count) {
        Object[] all = start(count);
        for (int i = 0; i < count; i++) {
            all[i] = new Kept();
            for (int j = 0; i >= count / 2 && j < 3; j++) {
                SINK[j] = new Dropped();
            }
        }
        Meters.stop();
    }

    private static void threads(int count) throws InterruptedException {
        Thread[] threads = new Thread[4];
        for (int t = 0; t < threads.length; t++) {
            int own = t;
            threads[t] = new Thread(() -> {
                for (int i = 0; i < count; i++) {
                    SINK[own] = new OfThread();
                }
            });
        }
        Meters.start();
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Meters.stop();
    }

    /** Each object of 1 KiB lives until 4 MiB more are allocated. */
    private static void ages(int count) {
        Object[] ring = new Object[RING];
        kept = ring;
        for (int iteration = 0; iteration < 2; iteration++) {
            Meters.start();
            for (int i = 0; i < count; i++) {
                ring[i % RING] = new byte[1008];
            }
            Meters.stop();
        }
    }
}
