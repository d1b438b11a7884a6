package org.regatta.profiler;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** The hierarchy data of a class file, read from bytes so that no class is loaded earlier than without the profiler. */
final class ClassFile {
    final String name;
    /** null: java.lang.Object */
    final String superName;

    final List<String> interfaces;
    final boolean isInterface;
    private final Map<String, Integer> accessOfMethods = new HashMap<>();

    ClassFile(ClassReader reader) {
        name = reader.getClassName();
        superName = reader.getSuperName();
        interfaces = List.of(reader.getInterfaces());
        isInterface = (reader.getAccess() & Opcodes.ACC_INTERFACE) != 0;
        reader.accept(
                new ClassVisitor(Opcodes.ASM9) {
                    @Override
                    public MethodVisitor visitMethod(
                            int access, String method, String descriptor, String signature, String[] exceptions) {
                        accessOfMethods.put(method + descriptor, access);
                        return null;
                    }
                },
                ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
    }

    /** @return the flags of a method declared here, by name and descriptor; null: not declared */
    Integer accessOf(String method) {
        return accessOfMethods.get(method);
    }
}
