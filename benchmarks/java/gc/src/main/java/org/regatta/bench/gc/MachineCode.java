package org.regatta.bench.gc;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.function.IntUnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;

/** The machine code of methods: copies of a class that the JVM compiles, and the bytes of all code. */
final class MachineCode {
    private static final int CALLS = 300;
    private static final int DIGITS = 5;
    private static final long MOST_WAIT_NS = 10_000_000_000L;
    private static final long WAIT_MS = 50;
    /** In a line of the list: begin and end of the code. */
    private static final Pattern CODE = Pattern.compile("\\[0x\\p{XDigit}+, 0x(\\p{XDigit}+) - 0x(\\p{XDigit}+)\\]");

    private static final int HEXADECIMAL = 16;

    /** Volatile: the JIT must not remove the calls. */
    private static volatile int latest;

    private MachineCode() {}

    /**
     * Load copies of {@link CompiledMethods} with other names.
     *
     * @param isCompiled whether to call their methods until they are compiled; otherwise each is called once
     * @return new objects of as many classes, in arrays: their calls leave nothing in them
     */
    static Object[][] copies(int count, boolean isCompiled)
            throws IOException, ReflectiveOperationException, InterruptedException {
        String name = CompiledMethods.class.getSimpleName();
        String classFile;
        try (InputStream in = MachineCode.class.getResourceAsStream(name + ".class")) {
            // One character per byte, so that the length of the name is that in the constants.
            classFile = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
        }
        Loader loader = new Loader();
        Object[][] all = LinkedLists.chunks(count);
        for (int i = 0; i < count; i++) {
            String other = name.substring(0, name.length() - DIGITS) + String.format("%0" + DIGITS + "d", i);
            IntUnaryOperator copy = loader.define(classFile.replace(name, other));
            for (int call = 0; call < (isCompiled ? CALLS : 1); call++) {
                latest = copy.applyAsInt(call);
            }
            all[i / Grid.CHUNK][i % Grid.CHUNK] =
                    copy.getClass().getDeclaredConstructor().newInstance();
        }
        awaitCompilers();
        return all;
    }

    private static final class Loader extends ClassLoader {
        Loader() {
            super(MachineCode.class.getClassLoader());
        }

        IntUnaryOperator define(String classFile) throws ReflectiveOperationException {
            byte[] bytes = classFile.getBytes(StandardCharsets.ISO_8859_1);
            return (IntUnaryOperator)
                    defineClass(null, bytes, 0, bytes.length).getDeclaredConstructor().newInstance();
        }
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
