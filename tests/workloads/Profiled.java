import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import java.util.zip.Deflater;

/** Programs whose calls into system classes are known; the first argument says which one runs. */
public final class Profiled {
    interface Named {
        String getName();
    }

    /** Its getName is the system's, though an interface of the application is called. */
    static final class Worker extends Thread implements Named {
        @Override
        public void run() {
            for (int i = 0; i < 7; i++) {
                new StringBuilder().append("abc").append('d');
            }
        }
    }

    /** Overrides what it then calls. */
    static final class Mine extends ArrayList<String> {
        private static final long serialVersionUID = 1;

        @Override
        public int size() {
            return super.size() + 1;
        }
    }

    static final class ByLength implements Comparator<String> {
        @Override
        public int compare(String a, String b) {
            return a.length() - b.length();
        }
    }

    interface Sized {
        default int size() {
            return -1;
        }
    }

    /** The class wins over the default of the interface. */
    static final class Both extends ArrayList<String> implements Sized {
        private static final long serialVersionUID = 1;
    }

    private Profiled() {}

    public static void main(String[] args) throws Throwable {
        switch (args[0]) {
            case "calls":
                calls();
                break;
            case "texts":
                texts();
                break;
            case "arrays":
                arrays();
                break;
            case "loaders":
                loaders(Integer.parseInt(args[1]));
                break;
            case "threads":
                threads(Integer.parseInt(args[1]));
                break;
            case "virtual":
                virtual(Integer.parseInt(args[1]));
                break;
            case "deep":
                deep();
                break;
            case "exit":
                System.out.println("out");
                System.err.println("err");
                System.exit(3);
                break;
            case "throw":
                throw new IllegalStateException("thrown");
            case "halt":
                Runtime.getRuntime().halt(4);
                break;
            default:
                throw new IllegalArgumentException(args[0]);
        }
    }

    private static void calls() throws Throwable {
        List<String> list = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            list.add("x");
        }
        List<List<String>> lists = new ArrayList<>();
        lists.add(list);
        lists.add(new LinkedList<>());
        lists.add(new Mine());
        int sum = 0;
        for (List<String> each : lists) {
            each.add("q");
            sum += each.size();
        }
        Sized both = new Both();
        sum += both.size();
        Worker worker = new Worker();
        worker.setName("worker");
        worker.start();
        worker.join();
        Named named = worker;
        sum += named.getName().length();
        sum += new ByLength().compare("a", "b");
        sum += new int[] {1, 2}.clone().length + Arrays.copyOf(new int[3], 5).length;
        System.arraycopy(new byte[10], 0, new byte[10], 0, 10);
        byte[] buffer = new byte[4];
        try (InputStream stream = new ByteArrayInputStream(new byte[10])) {
            while (stream.read(buffer) >= 0) {
                sum++;
            }
        }
        Map<Long, String> map = new HashMap<>();
        for (long key = 0; key < 100; key++) {
            map.put(key, "value");
        }
        try {
            list.get(5000);
        } catch (IndexOutOfBoundsException e) {
            sum += e.getMessage().length();
        }
        MethodHandle handle = MethodHandles.lookup()
                .findVirtual(String.class, "length", MethodType.methodType(int.class));
        sum += (int) handle.invokeExact("four");
        Runnable proxy = (Runnable) Proxy.newProxyInstance(
                Profiled.class.getClassLoader(), new Class<?>[] {Runnable.class}, (self, method, arguments) -> null);
        proxy.run();
        Function<String, Integer> length = String::length;
        sum += length.apply("by reference");
        System.out.println("sum " + sum);
    }

    private static void arrays() {
        System.arraycopy(new double[9], 0, new double[9], 1, 5);
        System.arraycopy(new String[9], 0, new Object[9], 1, 5);
        int sum = Arrays.copyOf(new char[4], 7).length + Arrays.copyOf(new long[4], 7).length;
        sum += Arrays.copyOfRange(new byte[9], 1, 4).length;
        double[] filled = new double[6];
        Arrays.fill(filled, 1.0);
        sum += "ABCDE".toLowerCase(Locale.ROOT).length();
        Map<Object, Object> map = new HashMap<>();
        map.put("the keys", 1);
        map.put(new byte[100], 2);
        sum += map.get("the keys").hashCode();
        Set<String> set = new HashSet<>();
        set.add("four");
        List<String> list = new ArrayList<>();
        list.add("not a key");
        Deflater deflater = new Deflater();
        deflater.setInput(new byte[100], 1, 6);
        deflater.finish();
        sum += deflater.deflate(new byte[100]);
        deflater.end();
        System.out.println("sum " + (sum + filled[0]));
    }

    /** Methods whose receiver and result together tell the amount of work. */
    private static void texts() {
        String text = "regatta".concat("-bench");
        String copy = new String(text.toCharArray());
        Object boxed = 1000;
        int sum = text.equals("regatta") ? 1 : 0;
        sum += text.equals(copy) ? 1 : 0;
        sum += ((Object) text).equals(copy) ? 1 : 0;
        sum += text.equalsIgnoreCase(copy) ? 1 : 0;
        sum += boxed.equals(1000) ? 1 : 0;
        sum += text.indexOf('-') + text.indexOf('#') + text.indexOf("bench");
        sum += text.substring(3).length() + text.substring(1, 3).length();
        sum += text.toUpperCase().length() + text.getBytes(StandardCharsets.UTF_8).length;
        System.out.println("sum " + sum);
    }

    /** A class of the same name in many loaders, each of which calls. */
    private static void loaders(int count) throws Exception {
        byte[] bytes;
        try (InputStream stream = Profiled.class.getResourceAsStream("Profiled$ByLength.class")) {
            bytes = stream.readAllBytes();
        }
        int sum = 0;
        for (int i = 0; i < count; i++) {
            Class<?> type = new ClassLoader(Profiled.class.getClassLoader()) {
                @Override
                protected Class<?> findClass(String name) {
                    return defineClass(name, bytes, 0, bytes.length);
                }

                Class<?> define() {
                    return findClass("Profiled$ByLength");
                }
            }.define();
            var constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            @SuppressWarnings("unchecked")
            Comparator<String> comparator = (Comparator<String>) constructor.newInstance();
            sum += comparator.compare("ab", "c");
        }
        System.out.println("sum " + sum);
    }

    /** Two crowds of threads: those of the first have ended when the second begins. */
    private static void threads(int count) throws InterruptedException {
        crowd(count);
        crowd(count);
    }

    private static void crowd(int count) throws InterruptedException {
        CountDownLatch together = new CountDownLatch(count);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(new Thread(() -> absolute(together), "caller"));
        }
        for (Thread thread : all) {
            thread.start();
        }
        for (Thread thread : all) {
            thread.join();
        }
    }

    private static void absolute(CountDownLatch together) {
        together.countDown();
        try {
            together.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        for (int i = 0; i < 20_000; i++) {
            Math.abs(i);
        }
    }

    private static void virtual(int count) throws Exception {
        CountDownLatch together = new CountDownLatch(count);
        CountDownLatch done = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            Runnable task = () -> {
                for (int j = 0; j < 10; j++) {
                    Math.abs(j);
                }
                together.countDown();
                done.countDown();
            };
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        }
        done.await();
    }

    private static int recursion;

    private static void deep() {
        try {
            down();
        } catch (StackOverflowError e) {
            for (int i = 0; i < 10; i++) {
                Math.min(i, 1);
            }
            System.out.println("overflow " + (recursion > 500));
        }
    }

    /** Two calls at each level, so that the stack may also be full where they are counted. */
    private static int down() {
        recursion = Math.max(Math.abs(recursion), 0) + 1;
        return down() + 1;
    }
}
