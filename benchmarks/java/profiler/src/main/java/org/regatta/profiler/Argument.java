package org.regatta.profiler;

import java.util.HashMap;
import java.util.Map;

/** What drives the cost of a method beside the number of its calls, and where a call shows it. */
final class Argument {
    private static final int RESULT = -1;
    private static final Map<String, Argument> BY_METHOD = new HashMap<>();

    static {
        result("bytes", "read([B)I", "read([BII)I", "read(Ljava/nio/ByteBuffer;)I", "write(Ljava/nio/ByteBuffer;)I");
        result("bytes", "deflate([B)I", "deflate([BII)I", "inflate([B)I", "inflate([BII)I");
        result("chars", "read([C)I", "read([CII)I");
        result("chars", "readLine()Ljava/lang/String;", "toString()Ljava/lang/String;");
        argument(0, "bytes", "write([B)V", "update([B)V", "<init>([BLjava/nio/charset/Charset;)V", "<init>([B)V");
        argument(2, "bytes", "write([BII)V", "update([BII)V", "<init>([BIILjava/nio/charset/Charset;)V");
        argument(0, "chars", "write([C)V", "write(Ljava/lang/String;)V", "<init>([C)V");
        argument(2, "chars", "write([CII)V", "write(Ljava/lang/String;II)V", "<init>([CII)V");
        argument(0, "chars", "append(Ljava/lang/String;)Ljava/lang/StringBuilder;");
        argument(0, "chars", "append(Ljava/lang/String;)Ljava/lang/StringBuffer;");
        argument(4, "elements", "arraycopy(Ljava/lang/Object;ILjava/lang/Object;II)V");
        argument(0, "elements", "addAll(Ljava/util/Collection;)Z", "<init>(Ljava/util/Collection;)V");
        argument(0, "elements", "sort([I)V", "sort([J)V", "sort([D)V", "sort([Ljava/lang/Object;)V");
        argument(0, "elements", "sort(Ljava/util/List;)V", "sort(Ljava/util/List;Ljava/util/Comparator;)V");
        argument(0, "elements", "sort([Ljava/lang/Object;Ljava/util/Comparator;)V");
        argument(0, "elements", "hashCode([B)I", "hashCode([I)I", "equals([B[B)Z");
    }

    /** of the argument, counted from 0 */
    private final int index;

    final String unit;

    private Argument(int index, String unit) {
        this.index = index;
        this.unit = unit;
    }

    private static void result(String unit, String... methods) {
        argument(RESULT, unit, methods);
    }

    private static void argument(int index, String unit, String... methods) {
        for (String method : methods) {
            BY_METHOD.put(method, new Argument(index, unit));
        }
    }

    /**
     * @param method name and descriptor: such methods mean the same wherever the system declares them
     * @return null: its calls alone are counted
     */
    static Argument of(String method) {
        return BY_METHOD.get(method);
    }

    boolean isResult() {
        return index == RESULT;
    }

    int index() {
        return index;
    }
}
