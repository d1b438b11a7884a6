package org.regatta.profiler;

import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Inserts a call of {@link Counts} before each call that may reach a system class.
 *
 * <p>The inserted code has no branches, and its local variables come after all others, so that frames stay unchanged.
 */
final class Rewriter {
    private static final String COUNTS = "org/regatta/profiler/Counts";
    /** The harness is not part of the application; its benchmarks are in packages below. */
    private static final String HARNESS = "org/regatta/bench/";

    private final ClassFiles files;

    Rewriter(ClassFiles files) {
        this.files = files;
    }

    /** @return the class with the inserted calls; null: none needed */
    byte[] rewrite(ClassLoader loader, byte[] bytes) {
        ClassReader reader = new ClassReader(bytes);
        files.add(loader, new ClassFile(reader));
        ClassNode type = new ClassNode();
        reader.accept(type, 0);
        boolean ofHarness = type.name.startsWith(HARNESS) && type.name.indexOf('/', HARNESS.length()) < 0;
        boolean changed = false;
        for (MethodNode method : type.methods) {
            changed |= new Calls(loader, method, ofHarness).rewrite();
        }
        if (!changed) {
            return null;
        }
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        type.accept(writer);
        return writer.toByteArray();
    }

    /** The calls in one method. */
    private final class Calls {
        private final ClassLoader loader;
        private final MethodNode method;
        private final boolean ofHarness;
        private final int firstFree;

        Calls(ClassLoader loader, MethodNode method, boolean ofHarness) {
            this.loader = loader;
            this.method = method;
            this.ofHarness = ofHarness;
            firstFree = method.maxLocals;
        }

        boolean rewrite() {
            boolean changed = false;
            for (AbstractInsnNode at : method.instructions.toArray()) {
                if (ofHarness) {
                    changed |= at instanceof MethodInsnNode && mark((MethodInsnNode) at);
                } else if (at instanceof InvokeDynamicInsnNode) {
                    changed |= count((InvokeDynamicInsnNode) at);
                } else if (at instanceof MethodInsnNode) {
                    changed |= count((MethodInsnNode) at);
                }
            }
            return changed;
        }

        /** The harness notifies its listener, and through this call also the counters, when an iteration starts and ends. */
        private boolean mark(MethodInsnNode call) {
            boolean starting = call.name.equals("iterationStarting");
            if (!call.owner.equals(HARNESS + "Listener") || !starting && !call.name.equals("iterationStopped")
                    || method.name.equals(call.name)) {
                return false;
            }
            InsnList before = new InsnList();
            before.add(new InsnNode(Opcodes.DUP));
            if (starting) {
                before.add(new VarInsnNode(Opcodes.ISTORE, firstFree));
                InsnList after = new InsnList();
                after.add(new VarInsnNode(Opcodes.ILOAD, firstFree));
                after.add(counts(call.name, "(I)V"));
                method.instructions.insert(call, after);
            } else {
                before.add(counts(call.name, "(I)V"));
            }
            method.instructions.insertBefore(call, before);
            return true;
        }

        /** A call linked by a system class: its name and the shape of the call site. */
        private boolean count(InvokeDynamicInsnNode call) {
            if (!files.isSystem(call.bsm.getOwner())) {
                return false;
            }
            InsnList before = new InsnList();
            before.add(new LdcInsnNode(Counts.idOf(call.bsm.getOwner(), call.bsm.getName() + call.desc)));
            before.add(counts("call", "(I)V"));
            method.instructions.insertBefore(call, before);
            return true;
        }

        private boolean count(MethodInsnNode call) {
            String name = call.name + call.desc;
            ClassFile owner = files.find(loader, call.owner.startsWith("[") ? "java/lang/Object" : call.owner);
            ClassFiles.Declaration declared = owner == null ? null : files.select(loader, owner, name);
            boolean fixed = call.getOpcode() == Opcodes.INVOKESTATIC || call.getOpcode() == Opcodes.INVOKESPECIAL;
            if (declared == null && owner != null && files.isSystem(call.owner)) {
                // A method with arbitrary arguments, such as MethodHandle.invoke.
                insert(call, true, Counts.idOf(call.owner, call.name + "([Ljava/lang/Object;)Ljava/lang/Object;"), null);
                return true;
            }
            if (fixed) {
                if (declared == null || !declared.ofSystem) {
                    return false;
                }
                Argument argument = Argument.of(name);
                boolean known = argument != null && !argument.isSearched();
                insert(call, true, Counts.idOf(declared.type.name, name), known ? argument : null);
                return true;
            }
            if (declared != null && !declared.ofSystem && !declared.isAbstract && !declared.type.isInterface) {
                // Every override is also in the application.
                return false;
            }
            insert(call, false, Counts.add(new Site(files, loader, owner, name)), Argument.of(name));
            return true;
        }

        /** @param number of the method if the target is fixed, otherwise of the site */
        private void insert(MethodInsnNode call, boolean fixed, int number, Argument argument) {
            Type[] types = Type.getArgumentTypes(call.desc);
            int[] locals = new int[types.length];
            int free = firstFree;
            for (int i = 0; i < types.length; i++) {
                locals[i] = free;
                free += types[i].getSize();
            }
            int receiver = free;
            boolean amountFirst = argument != null && !argument.isKnownAfter();
            boolean amountLast = argument != null && argument.isKnownAfter();
            InsnList before = new InsnList();
            boolean saved = !fixed || amountFirst;
            for (int i = types.length - 1; saved && i >= 0; i--) {
                before.add(new VarInsnNode(types[i].getOpcode(Opcodes.ISTORE), locals[i]));
            }
            if (!fixed) {
                before.add(new InsnNode(Opcodes.DUP));
                if (amountLast) {
                    before.add(new InsnNode(Opcodes.DUP));
                    before.add(new VarInsnNode(Opcodes.ASTORE, receiver));
                }
            }
            if (amountFirst) {
                Type type = types[argument.index()];
                boolean ofArray = argument.array() >= 0;
                if (ofArray) {
                    before.add(new VarInsnNode(Opcodes.ALOAD, locals[argument.array()]));
                }
                before.add(new VarInsnNode(type.getOpcode(Opcodes.ILOAD), locals[argument.index()]));
                before.add(ofArray ? counts("bytesOf", "(Ljava/lang/Object;I)J") : toLong(type, argument));
            }
            before.add(new LdcInsnNode(number));
            before.add(counts("call", "(" + (fixed ? "" : "Ljava/lang/Object;") + (amountFirst ? "J" : "") + "I)V"));
            for (int i = 0; saved && i < types.length; i++) {
                before.add(new VarInsnNode(types[i].getOpcode(Opcodes.ILOAD), locals[i]));
            }
            method.instructions.insertBefore(call, before);
            if (amountLast) {
                insertResult(call, fixed, number, receiver, argument);
            }
        }

        private void insertResult(MethodInsnNode call, boolean fixed, int number, int receiver, Argument argument) {
            Type type = Type.getReturnType(call.desc);
            InsnList after = new InsnList();
            after.add(new InsnNode(type.getSize() == 2 ? Opcodes.DUP2 : Opcodes.DUP));
            if (argument.isSearched()) {
                after.add(new VarInsnNode(Opcodes.ALOAD, receiver));
                after.add(counts("searched", "(" + type.getDescriptor() + "Ljava/lang/Object;)J"));
            } else {
                after.add(toLong(type, argument));
            }
            if (!fixed) {
                int amount = receiver + 1;
                after.add(new VarInsnNode(Opcodes.LSTORE, amount));
                after.add(new VarInsnNode(Opcodes.ALOAD, receiver));
                after.add(new VarInsnNode(Opcodes.LLOAD, amount));
            }
            after.add(new LdcInsnNode(number));
            after.add(counts("result", fixed ? "(JI)V" : "(Ljava/lang/Object;JI)V"));
            method.instructions.insert(call, after);
        }

        /** Convert the value on the stack: a number unchanged, an object to its length or size. */
        private AbstractInsnNode toLong(Type type, Argument argument) {
            switch (type.getSort()) {
                case Type.INT:
                    return new InsnNode(Opcodes.I2L);
                case Type.LONG:
                    return new InsnNode(Opcodes.NOP);
                default:
                    return counts(argument.reader(), "(Ljava/lang/Object;)J");
            }
        }

        private MethodInsnNode counts(String name, String descriptor) {
            return new MethodInsnNode(Opcodes.INVOKESTATIC, COUNTS, name, descriptor, false);
        }
    }
}
