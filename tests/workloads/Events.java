import java.io.InputStream;
import java.lang.reflect.Method;
import java.util.BitSet;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32;

/** Programs whose events are known; the first argument says which one runs, the second how often. */
public final class Events {
    /** What loaders define anew. */
    static final class Defined {}

    static final class Mine extends RuntimeException {
        private static final long serialVersionUID = 1;

        Mine(String message) {
            super(message);
        }
    }

    private static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass("Events$Defined", bytes, 0, bytes.length);
        }
    }

    private static final Object LOCK = new Object();
    private static volatile int turn;
    private static volatile int done;
    private static int recursion;

    private Events() {}

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[1]);
        switch (args[0]) {
            case "classes":
                classes(count);
                break;
            case "exceptions":
                exceptions(count);
                break;
            case "uncaught":
                each(count, () -> {
                    throw new Mine("nobody catches this");
                });
                break;
            case "monitors":
                contend(count);
                break;
            case "together":
                together(count);
                break;
            case "deep":
                each(count, Events::deep);
                break;
            case "virtual":
                virtual(count);
                break;
            case "work":
                work(count);
                break;
            case "calls":
                calls(count);
                break;
            case "exit":
                // Others still throw and load while the JVM ends.
                CountDownLatch thrown = new CountDownLatch(2 * count);
                for (int i = 0; i < count; i++) {
                    Thread busy = new Thread(() -> forever(thrown));
                    busy.setDaemon(true);
                    busy.start();
                }
                thrown.await();
                System.exit(3);
                break;
            default:
                throw new IllegalArgumentException(args[0]);
        }
    }

    private static void classes(int count) throws Exception {
        byte[] bytes;
        try (InputStream stream = Events.class.getResourceAsStream("Events$Defined.class")) {
            bytes = stream.readAllBytes();
        }
        for (int i = 0; i < count; i++) {
            new Loader().define(bytes);
        }
    }

    /** Thrown through some frames, caught once each. */
    private static void exceptions(int count) {
        int caught = 0;
        for (int i = 0; i < count; i++) {
            try {
                outer(i);
            } catch (Mine e) {
                caught++;
            }
        }
        System.out.println("caught " + caught);
    }

    private static void outer(int i) {
        inner(i);
    }

    private static void inner(int i) {
        throw new Mine("number " + i);
    }

    /** One thread after the other, none of which prints what it throws. */
    private static void each(int count, Runnable task) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(task, "one of many");
            thread.setUncaughtExceptionHandler((of, exception) -> {});
            thread.start();
            thread.join();
        }
    }

    /** A thread waits for a monitor: it is seen to be blocked before the monitor is free, each time. */
    private static void contend(int count) {
        Thread blocked = new Thread(() -> {
            for (int i = 1; i <= count; i++) {
                while (turn < i) {
                    Thread.onSpinWait();
                }
                synchronized (LOCK) {
                    // the wait is over
                }
                // Not within: the other would wait for the monitor that is still held.
                done = i;
            }
            // No end: it would lock the thread itself.
            LockSupport.park();
        }, "blocked");
        blocked.setDaemon(true);
        blocked.start();
        for (int i = 1; i <= count; i++) {
            synchronized (LOCK) {
                turn = i;
                while (blocked.getState() != Thread.State.BLOCKED) {
                    Thread.onSpinWait();
                }
            }
            while (done < i) {
                Thread.onSpinWait();
            }
        }
    }

    /** Threads that throw at the same time, a thousand times each. */
    private static void together(int count) throws InterruptedException {
        CountDownLatch all = new CountDownLatch(count);
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(() -> {
                all.countDown();
                await(all);
                for (int j = 0; j < 1000; j++) {
                    try {
                        outer(j);
                    } catch (Mine e) {
                        // as expected
                    }
                }
            }, "thrower " + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void await(CountDownLatch all) {
        try {
            all.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The first exception of this thread is that its stack is full. */
    private static void deep() {
        try {
            down();
        } catch (StackOverflowError e) {
            recursion = 0;
        }
    }

    private static int down() {
        recursion++;
        return down() + 1;
    }

    private static void virtual(int count) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        CountDownLatch done = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            start.invoke(null, (Runnable) () -> {
                try {
                    outer(1);
                } catch (Mine e) {
                    done.countDown();
                }
            });
        }
        done.await();
    }

    /** Enough for the compilers. */
    private static void work(int count) {
        long sum = 0;
        for (int i = 0; i < count; i++) {
            sum += String.valueOf(i).hashCode() + Integer.toHexString(i).length();
        }
        System.out.println("sum " + sum);
    }

    /** Each system method that it names is called once per turn. */
    private static void calls(int count) {
        String text = "a,b,c";
        TreeMap<Long, String> map = new TreeMap<>();
        BitSet bits = new BitSet();
        CRC32 crc = new CRC32();
        byte[] from = new byte[8];
        byte[] to = new byte[8];
        long sum = 0;
        for (int i = 0; i < count; i++) {
            sum += text.split(",").length + (Character.isDigit((char) i) ? 1 : 0);
            map.put(5L, text);
            bits.set(i % 64);
            crc.update(i);
            sum += Math.abs(i) + Math.addExact(i, 1) + Integer.bitCount(i) + (long) Math.floor(i);
            sum += text.length() + text.charAt(i % 5) + text.hashCode() + (long) Math.sqrt(i);
            System.arraycopy(from, 0, to, 0, 8);
            sum += from.clone().length;
        }
        System.out.println("sum " + sum);
    }

    private static void forever(CountDownLatch thrown) {
        for (int i = 0; ; i++) {
            try {
                outer(i);
            } catch (Mine e) {
                new Loader();
                thrown.countDown();
            }
        }
    }
}
