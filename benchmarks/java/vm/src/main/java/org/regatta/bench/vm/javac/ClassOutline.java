package org.regatta.bench.vm.javac;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import org.regatta.bench.OutputDigest;

/**
 * The declarations of a class file: name, kind, fields and methods. Constant pools, code and synthetic members differ
 * between releases of javac and are skipped.
 *
 * <p>Source: The Java Virtual Machine Specification, Java SE 17, chapter 4.
 */
final class ClassOutline {
    private static final int MAGIC = 0xCAFEBABE;
    private static final int SYNTHETIC = 0x1000;

    private final DataInputStream in;
    private String[] texts;
    private int[] classNames;
    private final StringBuilder outline = new StringBuilder();
    private boolean synthetic;

    private ClassOutline(byte[] classFile) {
        in = new DataInputStream(new ByteArrayInputStream(classFile));
    }

    /**
     * Feed the outline to {@code out}; nothing for a synthetic class.
     *
     * @throws IOException if this is not a complete class file
     */
    static void digest(byte[] classFile, OutputDigest out) throws IOException {
        ClassOutline reader = new ClassOutline(classFile);
        reader.read();
        if (!reader.synthetic) {
            out.put(reader.outline.toString());
        }
    }

    private void read() throws IOException {
        if (in.readInt() != MAGIC) {
            throw new IOException("not a class file");
        }
        in.readUnsignedShort();
        outline.append("release ").append(in.readUnsignedShort()).append('\n');
        readConstants();
        int flags = in.readUnsignedShort();
        synthetic = (flags & SYNTHETIC) != 0;
        outline.append(flags).append(' ').append(readClassName()).append(" extends ").append(readClassName());
        for (int interfaces = in.readUnsignedShort(); interfaces > 0; interfaces--) {
            outline.append(", ").append(readClassName());
        }
        outline.append('\n');
        readMembers("field");
        readMembers("method");
        skipAttributes();
        if (in.read() >= 0) {
            throw new IOException("more bytes than a class file has");
        }
    }

    private void readConstants() throws IOException {
        int count = in.readUnsignedShort();
        texts = new String[count];
        classNames = new int[count];
        for (int i = 1; i < count; i++) {
            int tag = in.readUnsignedByte();
            switch (tag) {
                case 1: // Utf8
                    texts[i] = in.readUTF();
                    break;
                case 7: // Class
                    classNames[i] = in.readUnsignedShort();
                    break;
                case 8: // String
                case 16: // MethodType
                case 19: // Module
                case 20: // Package
                    in.skipBytes(2);
                    break;
                case 15: // MethodHandle
                    in.skipBytes(3);
                    break;
                case 3: // Integer
                case 4: // Float
                case 9: // Fieldref
                case 10: // Methodref
                case 11: // InterfaceMethodref
                case 12: // NameAndType
                case 17: // Dynamic
                case 18: // InvokeDynamic
                    in.skipBytes(4);
                    break;
                case 5: // Long
                case 6: // Double
                    in.skipBytes(8);
                    // occupies two entries
                    i++;
                    break;
                default:
                    throw new IOException("constant " + i + " has the unknown tag " + tag);
            }
        }
    }

    private void readMembers(String kind) throws IOException {
        for (int members = in.readUnsignedShort(); members > 0; members--) {
            int flags = in.readUnsignedShort();
            String name = texts[in.readUnsignedShort()];
            String descriptor = texts[in.readUnsignedShort()];
            skipAttributes();
            if ((flags & SYNTHETIC) == 0) {
                outline.append(kind).append(' ').append(flags).append(' ').append(name).append(descriptor).append('\n');
            }
        }
    }

    private void skipAttributes() throws IOException {
        for (int attributes = in.readUnsignedShort(); attributes > 0; attributes--) {
            in.readUnsignedShort();
            int length = in.readInt();
            if (in.skipBytes(length) != length) {
                throw new IOException("the class file ends early");
            }
        }
    }

    private String readClassName() throws IOException {
        return texts[classNames[in.readUnsignedShort()]];
    }
}
