package org.regatta.bench.gc;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.util.function.IntUnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;

/** The machine code of methods: copies of a class that the JVM compiles, and the bytes of all code. */
final class MachineCode {
    private static final int CALLS = 300;
    private static final long MOST_WAIT_NS = 10_000_000_000L;
    private static final long WAIT_MS = 50;
    /** In a line of the list: begin and end of the code. */
    private static final Pattern CODE = Pattern.compile("\\[0x\\p{XDigit}+, 0x(\\p{XDigit}+) - 0x(\\p{XDigit}+)\\]");

    private static final int HEXADECIMAL = 16;

    /** Volatile: the JIT must not remove the calls. */
    private static volatile int latest;

    private MachineCode() {}

    /** @return objects of as many classes, each of its own loader, whose methods are compiled, in arrays */
    static Object[][] copies(int count) throws IOException, ReflectiveOperationException, InterruptedException {
        byte[] classFile;
        try (InputStream in = MachineCode.class.getResourceAsStream("CompiledMethods.class")) {
            classFile = in.readAllBytes();
        }
        Object[][] all = LinkedLists.chunks(count);
        for (Object[] chunk : all) {
            for (int i = 0; i < chunk.length; i++) {
                chunk[i] = NodeClasses.define(classFile).getDeclaredConstructor().newInstance();
                for (int call = 0; call < CALLS; call++) {
                    latest = ((IntUnaryOperator) chunk[i]).applyAsInt(call);
                }
            }
        }
        awaitCompilers();
        return all;
    }

    /** @return bytes of the code of all methods */
    static long bytes() {
        String list;
        try {
            ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
            list = (String) ManagementFactory.getPlatformMBeanServer()
                    .invoke(commands, "compilerCodelist", new Object[0], new String[0]);
        } catch (JMException e) {
            throw new IllegalStateException(e);
        }
        long sum = 0;
        for (Matcher line = CODE.matcher(list); line.find(); ) {
            sum += Long.parseLong(line.group(2), HEXADECIMAL) - Long.parseLong(line.group(1), HEXADECIMAL);
        }
        return sum;
    }

    /** The compilers work in the background. */
    private static void awaitCompilers() throws InterruptedException {
        long until = System.nanoTime() + MOST_WAIT_NS;
        long before;
        long now = bytes();
        do {
            before = now;
            Thread.sleep(WAIT_MS);
            now = bytes();
        } while (now != before && System.nanoTime() < until);
    }
}
