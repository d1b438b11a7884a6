package org.regatta.profiler;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** The methods that rewritten classes call. Public only because these classes are in all packages and loaders. */
public final class Counts {
    /** A call to an application class. */
    static final int NOT_COUNTED = -1;

    private static final Map<String, Integer> IDS = new ConcurrentHashMap<>();
    private static final List<Method> METHODS = Collections.synchronizedList(new ArrayList<>());
    private static final List<Tally> TALLIES = new ArrayList<>();
    private static final int MOST_TALLIES = 256;
    private static final Tally ENDED = new Tally("(ended threads)", null);
    private static final Tally VIRTUAL = new SharedTally("(virtual threads)");
    private static final Map<String, String> NOT_PROFILED = Collections.synchronizedMap(new TreeMap<>());
    private static final List<Window> WINDOWS = Collections.synchronizedList(new ArrayList<>());
    private static final ThreadLocal<Tally> OWN = ThreadLocal.withInitial(Counts::open);

    private static volatile Site[] sites = new Site[1024];
    private static int siteCount;

    private Counts() {}

    /** A system method, by its declaration. */
    static final class Method {
        final String name;
        /** summed cost driver; null: none */
        final Argument argument;

        Method(String name, Argument argument) {
            this.name = name;
            this.argument = argument;
        }
    }

    /** The counts between two moments. */
    static final class Window {
        final String name;
        final long[] calls;
        final long[] amounts;

        Window(String name, long[] calls, long[] amounts) {
            this.name = name;
            this.calls = calls;
            this.amounts = amounts;
        }
    }

    /** @return the number of a method, unique per name */
    static int idOf(String type, String method) {
        String name = type.replace('/', '.') + '.' + method;
        Integer known = IDS.get(name);
        if (known != null) {
            return known;
        }
        synchronized (METHODS) {
            return IDS.computeIfAbsent(name, key -> {
                Argument argument = Argument.of(method);
                METHODS.add(new Method(name, argument != null && argument.isOf(type) ? argument : null));
                return METHODS.size() - 1;
            });
        }
    }

    /** @return the number of a new call site whose target depends on the receiver */
    static synchronized int add(Site site) {
        if (siteCount == sites.length) {
            sites = Arrays.copyOf(sites, 2 * siteCount);
        }
        sites[siteCount] = site;
        return siteCount++;
    }

    static void notProfiled(String type, Throwable reason) {
        NOT_PROFILED.put(type, reason.toString());
    }

    // ---- called by the application ----

    /** Count a call whose target is fixed by the instruction. */
    public static void call(int method) {
        OWN.get().add(method, 1, 0);
    }

    /** Count such a call with its amount of work, which is not negative. */
    public static void call(long amount, int method) {
        OWN.get().add(method, 1, amount);
    }

    /** Add the amount given by the result of a call; -1 is the end of a stream. */
    public static void result(long amount, int method) {
        if (amount > 0) {
            OWN.get().add(method, 0, amount);
        }
    }

    /** Count a call whose target depends on the receiver. */
    public static void call(Object receiver, int site) {
        call(receiver, 0, site);
    }

    /** Count such a call with its amount of work. */
    public static void call(Object receiver, long amount, int site) {
        // With a null receiver, the call itself throws.
        int method = receiver == null ? NOT_COUNTED : sites[site].target(receiver.getClass());
        if (method != NOT_COUNTED) {
            OWN.get().add(method, 1, amount);
        }
    }

    /** Add the amount given by the result of such a call. */
    public static void result(Object receiver, long amount, int site) {
        int method = amount > 0 ? sites[site].target(receiver.getClass()) : NOT_COUNTED;
        if (method != NOT_COUNTED) {
            OWN.get().add(method, 0, amount);
        }
    }

    /** @return the length of two equal texts, all compared; 0 if they differ, usually at once */
    public static long searched(boolean equal, Object text) {
        return equal && text instanceof String ? ((String) text).length() : 0;
    }

    /** @return the number of characters scanned to find an index, or to find none */
    public static long searched(int index, Object text) {
        return index < 0 && text instanceof String ? ((String) text).length() : index + 1L;
    }

    /** @return the number of elements or characters; 0 for null and other types */
    public static long lengthOf(Object value) {
        if (value instanceof String) {
            return ((String) value).length();
        }
        if (value instanceof StringBuilder || value instanceof StringBuffer) {
            return ((CharSequence) value).length();
        }
        if (value != null && value.getClass().isArray()) {
            return java.lang.reflect.Array.getLength(value);
        }
        // A collection of the application would be called and counted.
        boolean known = value instanceof Collection && ClassFiles.isOfSystem(value.getClass().getClassLoader());
        return known ? ((Collection<?>) value).size() : 0;
    }

    /** @return the number of characters of a text; 0 of other things */
    public static long charsOf(Object value) {
        return value instanceof String ? ((String) value).length() : 0;
    }

    /** @return the size of an array, without its header; 0 of null and of other things */
    public static long bytesOf(Object array) {
        return array != null && array.getClass().isArray() ? bytesOf(array, java.lang.reflect.Array.getLength(array)) : 0;
    }

    /** @return the size of the given number of elements of an array; references have 4 bytes, as in heaps of less than 32 GiB */
    public static long bytesOf(Object array, int elements) {
        Class<?> type = array == null ? null : array.getClass().getComponentType();
        if (type == null || elements < 0) {
            return 0;
        }
        if (type == long.class || type == double.class) {
            return 8L * elements;
        }
        if (type == char.class || type == short.class) {
            return 2L * elements;
        }
        return (type == byte.class || type == boolean.class ? 1L : 4L) * elements;
    }

    /** Start the measured part of an iteration: end the preceding window. */
    public static void iterationStarting(int iteration) {
        endWindow(iteration == 0 ? "startup" : "before " + iteration);
    }

    /** End the measured part of an iteration. */
    public static void iterationStopped(int iteration) {
        endWindow("iteration " + iteration);
    }

    // ---- tallies ----

    private static class Tally {
        final String name;
        private final Thread thread;
        // Written by one thread; readers see only data published with the array, or of ended threads.
        private volatile long[] calls = new long[256];
        private volatile long[] amounts = new long[256];

        Tally(String name, Thread thread) {
            this.name = name;
            this.thread = thread;
        }

        void add(int method, long count, long amount) {
            long[] mine = calls;
            if (method >= mine.length) {
                mine = Arrays.copyOf(mine, Math.max(2 * mine.length, method + 1));
                amounts = Arrays.copyOf(amounts, mine.length);
                calls = mine;
            }
            mine[method] += count;
            amounts[method] += amount;
        }

        synchronized void addTo(long[] allCalls, long[] allAmounts) {
            long[] ownCalls = calls;
            long[] ownAmounts = amounts;
            for (int method = 0; method < Math.min(ownCalls.length, allCalls.length); method++) {
                allCalls[method] += ownCalls[method];
                allAmounts[method] += ownAmounts[method];
            }
        }

        void take(Tally other) {
            for (int method = 0; method < other.calls.length; method++) {
                if (other.calls[method] != 0 || other.amounts[method] != 0) {
                    add(method, other.calls[method], other.amounts[method]);
                }
            }
        }

        long total() {
            long sum = 0;
            for (long count : calls) {
                sum += count;
            }
            return sum;
        }

        boolean hasEnded() {
            return thread != null && !thread.isAlive();
        }
    }

    /** For too many threads to have one each, which would need too much memory. */
    private static final class SharedTally extends Tally {
        SharedTally(String name) {
            super(name, null);
        }

        @Override
        synchronized void add(int method, long count, long amount) {
            super.add(method, count, amount);
        }
    }

    private static Tally open() {
        Thread thread = Thread.currentThread();
        // By name: releases before 21 have no virtual threads.
        for (Class<?> type = thread.getClass(); type != null; type = type.getSuperclass()) {
            if (type.getName().equals("java.lang.BaseVirtualThread")) {
                return VIRTUAL;
            }
        }
        Tally tally = new Tally(thread.getName(), thread);
        synchronized (TALLIES) {
            if (TALLIES.size() >= MOST_TALLIES) {
                TALLIES.removeIf(other -> {
                    if (other.hasEnded()) {
                        ENDED.take(other);
                        return true;
                    }
                    return false;
                });
            }
            TALLIES.add(tally);
        }
        return tally;
    }

    private static void endWindow(String name) {
        WINDOWS.add(untilNow(name));
    }

    /** @return the counts from the start until now, by the number of the method */
    static Window untilNow(String name) {
        int size = METHODS.size();
        long[] calls = new long[size];
        long[] amounts = new long[size];
        synchronized (TALLIES) {
            ENDED.addTo(calls, amounts);
            VIRTUAL.addTo(calls, amounts);
            TALLIES.forEach(tally -> tally.addTo(calls, amounts));
        }
        return new Window(name, calls, amounts);
    }

    /** @return the ended windows, each with all counts until its end */
    static List<Window> windows() {
        synchronized (WINDOWS) {
            return List.copyOf(WINDOWS);
        }
    }

    static Method method(int id) {
        return METHODS.get(id);
    }

    static Map<String, String> notProfiled() {
        synchronized (NOT_PROFILED) {
            return new TreeMap<>(NOT_PROFILED);
        }
    }

    /** @return calls by thread name, summed over threads of the same name */
    static Map<String, Long> threads() {
        Map<String, Long> calls = new LinkedHashMap<>();
        synchronized (TALLIES) {
            List<Tally> all = new ArrayList<>(TALLIES);
            all.add(ENDED);
            all.add(VIRTUAL);
            for (Tally tally : all) {
                if (tally.total() > 0) {
                    calls.merge(tally.name, tally.total(), Long::sum);
                }
            }
        }
        return calls;
    }
}
