package org.regatta.bench.gc;

import com.sun.management.ThreadMXBean;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Constructor;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Creates subclasses of {@link Node} with a number of references and of {@code long} fields, so that their objects have
 * the requested size on any JVM. The sizes are those that the JVM counts.
 */
final class NodeClasses {
    private static final int SAMPLES = 1000;
    private static final long SAMPLED_BYTES = 4 << 20;
    private static final String PREFIX = "org/regatta/bench/gc/Node";
    /** Java 8: code without branches needs no stack maps. */
    private static final int CLASS_VERSION = 52;

    private static final int ACC_PUBLIC = 1;
    private static final int ACC_SUPER = 0x20;

    /** Prototypes by name. */
    private final Map<String, Node> known = new HashMap<>();

    /** A prototype and the size of its objects, which share a class. */
    static final class Sized {
        final Node prototype;
        final int bytes;

        Sized(Node prototype, int bytes) {
            this.prototype = prototype;
            this.bytes = bytes;
        }
    }

    /**
     * @param references besides {@code next}
     * @param bytes requested size
     * @return nodes of this size, or of the next one that the alignment of objects permits; null if an object with
     *     these references is larger
     */
    Sized ofSize(int references, int bytes) {
        int least = sizeOf(prototype(references, 0)::fresh);
        if (least > bytes) {
            return null;
        }
        Node prototype = prototype(references, (bytes - least) / Long.BYTES);
        return new Sized(prototype, sizeOf(prototype::fresh));
    }

    /** @return nodes of the smallest size with these references */
    Sized least(int references) {
        Node prototype = prototype(references, 0);
        return new Sized(prototype, sizeOf(prototype::fresh));
    }

    /** @return bytes of a new object, without the objects it refers to */
    static int sizeOf(Supplier<?> factory) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long self = Thread.currentThread().getId();
        // The first call loads classes.
        Grid.latest = factory.get();
        long before = threads.getThreadAllocatedBytes(self);
        long calls = threads.getThreadAllocatedBytes(self) - before;
        before = threads.getThreadAllocatedBytes(self);
        Grid.latest = factory.get();
        long roughly = Math.max(1, threads.getThreadAllocatedBytes(self) - before - calls);
        int samples = (int) Math.max(1, Math.min(SAMPLES, SAMPLED_BYTES / roughly));
        before = threads.getThreadAllocatedBytes(self);
        for (int i = 0; i < samples; i++) {
            Grid.latest = factory.get();
        }
        long bytes = threads.getThreadAllocatedBytes(self) - before - calls;
        Grid.latest = null;
        // The JVM may allocate some bytes for a call of the method.
        return (int) (bytes / samples);
    }

    /** @return bytes of a reference in a field or an array */
    static int referenceBytes() {
        int more = 1024;
        return (sizeOf(() -> new Object[2 * more]) - sizeOf(() -> new Object[more])) / more;
    }

    private Node prototype(int references, int longs) {
        String name = "Node_" + references + "_" + longs;
        return known.computeIfAbsent(name, absent -> instance(new Own(), absent, references, longs));
    }

    private static Node instance(Own loader, String name, int references, int longs) {
        try {
            byte[] bytes = classFile("org/regatta/bench/gc/" + name, references, longs);
            Constructor<? extends Node> constructor =
                    loader.define(bytes).asSubclass(Node.class).getConstructor();
            return constructor.newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static final class Own extends ClassLoader {
        Own() {
            super(NodeClasses.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    private static byte[] classFile(String name, int references, int longs) throws IOException {
        Pool pool = new Pool();
        int self = pool.ofClass(name);
        int parent = pool.ofClass(PREFIX);
        int code = pool.utf8("Code");
        int init = pool.utf8("<init>");
        int noArguments = pool.utf8("()V");
        int initialiser = pool.nameAndType(init, noArguments);
        int parentInit = pool.member(10, parent, initialiser);
        int selfInit = pool.member(10, self, initialiser);
        int object = pool.utf8("Ljava/lang/Object;");
        int number = pool.utf8("J");
        Code link = new Code();
        ByteArrayOutputStream fieldBytes = new ByteArrayOutputStream();
        DataOutputStream fields = new DataOutputStream(fieldBytes);
        for (int i = 0; i < references + longs; i++) {
            int field = pool.utf8("f" + i);
            int type = i < references ? object : number;
            field(fields, field, type);
            if (i < references) {
                int reference = pool.member(9, self, pool.nameAndType(field, type));
                // this.f = argument[i]
                link.bytes(0x2a, 0x2b, 0x11).u2(i).bytes(0x32, 0xb5).u2(reference);
            }
        }
        byte[] linkBody = link.bytes(0xb1).end();
        byte[] initBody = new Code().bytes(0x2a, 0xb7).u2(parentInit).bytes(0xb1).end();
        byte[] freshBody =
                new Code().bytes(0xbb).u2(self).bytes(0x59, 0xb7).u2(selfInit).bytes(0xb0).end();
        int fresh = pool.utf8("fresh");
        int freshType = pool.utf8("()L" + PREFIX + ";");
        int linkName = pool.utf8("link");
        int linkType = pool.utf8("([Ljava/lang/Object;)V");

        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(CLASS_VERSION);
        pool.writeTo(out);
        out.writeShort(ACC_PUBLIC | ACC_SUPER);
        out.writeShort(self);
        out.writeShort(parent);
        out.writeShort(0);
        out.writeShort(references + longs);
        fieldBytes.writeTo(out);
        out.writeShort(3);
        method(out, init, noArguments, code, initBody, 1);
        method(out, fresh, freshType, code, freshBody, 1);
        method(out, linkName, linkType, code, linkBody, 2);
        out.writeShort(0);
        return bytes.toByteArray();
    }

    private static void field(DataOutputStream out, int name, int type) throws IOException {
        out.writeShort(ACC_PUBLIC);
        out.writeShort(name);
        out.writeShort(type);
        out.writeShort(0);
    }

    private static void method(DataOutputStream out, int name, int type, int code, byte[] body, int locals)
            throws IOException {
        out.writeShort(ACC_PUBLIC);
        out.writeShort(name);
        out.writeShort(type);
        out.writeShort(1);
        out.writeShort(code);
        out.writeInt(12 + body.length);
        out.writeShort(3);
        out.writeShort(locals);
        out.writeInt(body.length);
        out.write(body);
        out.writeShort(0);
        out.writeShort(0);
    }

    /** Instructions of a method. */
    private static final class Code {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();

        Code bytes(int... values) {
            for (int value : values) {
                out.write(value);
            }
            return this;
        }

        Code u2(int value) {
            return bytes(value >> 8, value);
        }

        byte[] end() {
            return out.toByteArray();
        }
    }

    /** The constants of a class. */
    private static final class Pool {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final DataOutputStream out = new DataOutputStream(bytes);
        private int count;

        int utf8(String text) throws IOException {
            out.writeByte(1);
            out.writeUTF(text);
            return ++count;
        }

        int ofClass(String name) throws IOException {
            int text = utf8(name);
            out.writeByte(7);
            out.writeShort(text);
            return ++count;
        }

        int nameAndType(int name, int type) throws IOException {
            return member(12, name, type);
        }

        int member(int tag, int first, int second) throws IOException {
            out.writeByte(tag);
            out.writeShort(first);
            out.writeShort(second);
            return ++count;
        }

        void writeTo(DataOutputStream target) throws IOException {
            target.writeShort(count + 1);
            bytes.writeTo(target);
        }
    }
}
