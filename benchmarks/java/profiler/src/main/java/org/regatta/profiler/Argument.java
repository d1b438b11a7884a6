package org.regatta.profiler;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** The argument that drives the cost of a method besides the number of calls, and where a call exposes it. */
final class Argument {
    private static final int RESULT = -1;
    private static final int SEARCHED = -2;
    private static final int NONE = -1;
    /** Maps and sets that compute the hash of a key and compare its characters. */
    private static final Set<String> HASHED = Set.of(
            "java/util/HashMap",
            "java/util/HashSet",
            "java/util/LinkedHashMap",
            "java/util/Hashtable",
            "java/util/concurrent/ConcurrentHashMap");
    private static final Map<String, Argument> BY_METHOD = new HashMap<>();

    static {
        result("bytes", "read([B)I", "read([BII)I", "read(Ljava/nio/ByteBuffer;)I", "write(Ljava/nio/ByteBuffer;)I");
        result("bytes", "deflate([B)I", "deflate([BII)I", "inflate([B)I", "inflate([BII)I");
        result("chars", "read([C)I", "read([CII)I");
        result("chars", "readLine()Ljava/lang/String;", "toString()Ljava/lang/String;");
        result("bytes", "getBytes()[B", "getBytes(Ljava/lang/String;)[B", "getBytes(Ljava/nio/charset/Charset;)[B");
        result("chars", "substring(I)Ljava/lang/String;", "substring(II)Ljava/lang/String;", "toCharArray()[C");
        result("chars", "concat(Ljava/lang/String;)Ljava/lang/String;", "trim()Ljava/lang/String;");
        result("chars", "toLowerCase()Ljava/lang/String;", "toUpperCase()Ljava/lang/String;");
        result("chars", "toLowerCase(Ljava/util/Locale;)Ljava/lang/String;");
        result("chars", "toUpperCase(Ljava/util/Locale;)Ljava/lang/String;");
        searched("chars", "equals(Ljava/lang/Object;)Z", "equalsIgnoreCase(Ljava/lang/String;)Z");
        searched("chars", "indexOf(I)I", "indexOf(Ljava/lang/String;)I");
        argument(0, "bytes", "digest([B)[B", "encode([B)[B");
        argument(0, "bytes", "write([B)V", "update([B)V", "<init>([BLjava/nio/charset/Charset;)V", "<init>([B)V");
        argument(2, "bytes", "write([BII)V", "update([BII)V", "<init>([BIILjava/nio/charset/Charset;)V");
        argument(0, "chars", "write([C)V", "write(Ljava/lang/String;)V", "<init>([C)V");
        argument(2, "chars", "write([CII)V", "write(Ljava/lang/String;II)V", "<init>([CII)V");
        argument(0, "chars", "append(Ljava/lang/String;)Ljava/lang/StringBuilder;");
        argument(0, "chars", "append(Ljava/lang/String;)Ljava/lang/StringBuffer;");
        argument(0, "bytes", "setInput([B)V");
        argument(2, "bytes", "setInput([BII)V");
        partOfArray(4, "arraycopy(Ljava/lang/Object;ILjava/lang/Object;II)V");
        for (String type : new String[] {"Z", "B", "C", "S", "I", "J", "F", "D", "Ljava/lang/Object;"}) {
            partOfArray(1, "copyOf([" + type + "I)[" + type);
            array(RESULT, "copyOfRange([" + type + "II)[" + type);
            array(0, "fill([" + type + type + ")V");
        }
        array(RESULT, "copyOf([Ljava/lang/Object;ILjava/lang/Class;)[Ljava/lang/Object;", "clone()Ljava/lang/Object;");
        key("get(Ljava/lang/Object;)Ljava/lang/Object;", "containsKey(Ljava/lang/Object;)Z");
        key("put(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;");
        key("putIfAbsent(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;");
        key("getOrDefault(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;");
        key("remove(Ljava/lang/Object;)Ljava/lang/Object;", "remove(Ljava/lang/Object;)Z");
        key("add(Ljava/lang/Object;)Z", "contains(Ljava/lang/Object;)Z");
        argument(0, "elements", "addAll(Ljava/util/Collection;)Z", "<init>(Ljava/util/Collection;)V");
        argument(0, "elements", "sort([I)V", "sort([J)V", "sort([D)V", "sort([Ljava/lang/Object;)V");
        argument(0, "elements", "sort([B)V", "sort([C)V", "sort([S)V", "sort([F)V");
        argument(0, "elements", "sort(Ljava/util/List;)V", "sort(Ljava/util/List;Ljava/util/Comparator;)V");
        argument(0, "elements", "sort([Ljava/lang/Object;Ljava/util/Comparator;)V");
        argument(0, "elements", "hashCode([B)I", "hashCode([I)I", "equals([B[B)Z");
    }

    /** of the argument, counted from 0 */
    private final int index;

    final String unit;
    /** which argument is the array whose elements {@link #index} counts; NONE: the amount itself is there */
    private final int array;

    /** how {@link Counts} reads an object */
    private final String reader;

    private Argument(int index, String unit, int array, String reader) {
        this.index = index;
        this.unit = unit;
        this.array = array;
        this.reader = reader;
    }

    /** Elements of the array in argument 0, of the size that its type has. */
    private static void partOfArray(int index, String method) {
        BY_METHOD.put(method, new Argument(index, "bytes", 0, "bytesOf"));
    }

    /** A whole array. */
    private static void array(int index, String... methods) {
        for (String method : methods) {
            BY_METHOD.put(method, new Argument(index, "bytes", NONE, "bytesOf"));
        }
    }

    /** A key that is a text: its characters. */
    private static void key(String... methods) {
        for (String method : methods) {
            BY_METHOD.put(method, new Argument(0, "chars", NONE, "charsOf"));
        }
    }

    private static void result(String unit, String... methods) {
        argument(RESULT, unit, methods);
    }

    /** Methods of String that scan its characters until the result is known. */
    private static void searched(String unit, String... methods) {
        argument(SEARCHED, unit, methods);
    }

    private static void argument(int index, String unit, String... methods) {
        for (String method : methods) {
            BY_METHOD.put(method, new Argument(index, unit, NONE, "lengthOf"));
        }
    }

    /**
     * @param method name and descriptor: such methods have the same meaning in all system classes
     * @return null: only the calls are counted
     */
    static Argument of(String method) {
        return BY_METHOD.get(method);
    }

    /** Whether the amount is known only after the call. */
    boolean isKnownAfter() {
        return index < 0;
    }

    /** Whether result and receiver together determine the amount. */
    boolean isSearched() {
        return index == SEARCHED;
    }

    /** @return whether the declared method has this argument; {@code type} with slashes */
    boolean isOf(String type) {
        if (reader.equals("charsOf")) {
            return HASHED.contains(type);
        }
        return index != SEARCHED || type.equals("java/lang/String");
    }

    /** @return which argument is the array whose elements are counted; negative: none */
    int array() {
        return array;
    }

    /** @return the method of {@link Counts} that reads the amount from an object */
    String reader() {
        return reader;
    }

    int index() {
        return index;
    }
}
