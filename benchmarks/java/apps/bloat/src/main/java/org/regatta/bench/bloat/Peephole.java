package org.regatta.bench.bloat;

import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.LineNumberNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;

/** Improves pairs of adjacent instructions until a fixed point. */
final class Peephole {
    /** Maximum length of a jump chain to follow: it may be a cycle. */
    private static final int MAX_HOPS = 8;

    private final InsnList code;
    private final Changes changes;

    Peephole(MethodNode method, Changes changes) {
        this.code = method.instructions;
        this.changes = changes;
    }

    void run() {
        boolean changed = true;
        while (changed) {
            changed = false;
            for (AbstractInsnNode node : code.toArray()) {
                // A node that an earlier change removed has no valid index.
                if (node.getOpcode() >= 0 && isThere(node) && improve(node)) {
                    changes.peepholes++;
                    changed = true;
                }
            }
        }
    }

    private boolean isThere(AbstractInsnNode node) {
        return node == code.getFirst() || node.getPrevious() != null;
    }

    private boolean improve(AbstractInsnNode first) {
        if (first.getOpcode() == Opcodes.NOP) {
            code.remove(first);
            return true;
        }
        if (first instanceof JumpInsnNode) {
            return improveJump((JumpInsnNode) first);
        }
        AbstractInsnNode second = following(first);
        if (second == null) {
            return false;
        }
        if (second.getOpcode() == Opcodes.POP || second.getOpcode() == Opcodes.POP2) {
            return improveDropped(first, second);
        }
        return first instanceof VarInsnNode
                ? improveReloaded((VarInsnNode) first, second)
                : improveArithmetic(first, second);
    }

    /** @return the next instruction; null if it can also be reached from elsewhere */
    private static AbstractInsnNode following(AbstractInsnNode node) {
        AbstractInsnNode next = node.getNext();
        while (next instanceof LineNumberNode) {
            next = next.getNext();
        }
        return next == null || next.getOpcode() < 0 ? null : next;
    }

    private boolean improveJump(JumpInsnNode jump) {
        LabelNode target = jump.label;
        for (int hops = 0; hops < MAX_HOPS; hops++) {
            AbstractInsnNode there = instructionAt(target);
            if (there == null || there.getOpcode() != Opcodes.GOTO || there == jump) {
                break;
            }
            target = ((JumpInsnNode) there).label;
        }
        if (jump.getOpcode() == Opcodes.GOTO && instructionAt(target) == instructionBehind(jump)) {
            code.remove(jump);
            return true;
        }
        if (instructionAt(target) == instructionAt(jump.label)) {
            return false;
        }
        jump.label = target;
        return true;
    }

    private static AbstractInsnNode instructionBehind(AbstractInsnNode node) {
        return node.getNext() == null ? null : instructionAt(node.getNext());
    }

    private static AbstractInsnNode instructionAt(AbstractInsnNode node) {
        AbstractInsnNode at = node;
        while (at != null && at.getOpcode() < 0) {
            at = at.getNext();
        }
        return at;
    }

    /** Remove the computation of a value that is then dropped. */
    private boolean improveDropped(AbstractInsnNode producer, AbstractInsnNode drop) {
        boolean single = drop.getOpcode() == Opcodes.POP;
        int opcode = producer.getOpcode();
        if (single ? pushesSingle(producer) : pushesDouble(producer)) {
            code.remove(producer);
            code.remove(drop);
            return true;
        }
        if (single && (opcode == Opcodes.INEG || opcode >= Opcodes.I2B && opcode <= Opcodes.I2S)) {
            code.remove(producer);
            return true;
        }
        if (single && isIntOperation(opcode)) {
            code.set(producer, new InsnNode(Opcodes.POP));
            return true;
        }
        if (single && opcode == Opcodes.LCMP || !single && isLongOperation(opcode)) {
            code.set(producer, new InsnNode(Opcodes.POP2));
            code.set(drop, new InsnNode(Opcodes.POP2));
            return true;
        }
        return false;
    }

    private static boolean pushesSingle(AbstractInsnNode node) {
        int opcode = node.getOpcode();
        Object loaded = node instanceof LdcInsnNode ? ((LdcInsnNode) node).cst : null;
        return opcode >= Opcodes.ACONST_NULL && opcode <= Opcodes.ICONST_5
                || opcode >= Opcodes.FCONST_0 && opcode <= Opcodes.FCONST_2
                || opcode == Opcodes.BIPUSH
                || opcode == Opcodes.SIPUSH
                || opcode == Opcodes.ILOAD
                || opcode == Opcodes.FLOAD
                || opcode == Opcodes.ALOAD
                || opcode == Opcodes.DUP
                || loaded instanceof Integer
                || loaded instanceof Float
                || loaded instanceof String;
    }

    private static boolean pushesDouble(AbstractInsnNode node) {
        int opcode = node.getOpcode();
        Object loaded = node instanceof LdcInsnNode ? ((LdcInsnNode) node).cst : null;
        return opcode == Opcodes.LCONST_0
                || opcode == Opcodes.LCONST_1
                || opcode == Opcodes.DCONST_0
                || opcode == Opcodes.DCONST_1
                || opcode == Opcodes.LLOAD
                || opcode == Opcodes.DLOAD
                || loaded instanceof Long
                || loaded instanceof Double;
    }

    /** An operation on two ints that never throws. */
    private static boolean isIntOperation(int opcode) {
        return opcode == Opcodes.IADD
                || opcode == Opcodes.ISUB
                || opcode == Opcodes.IMUL
                || opcode == Opcodes.IAND
                || opcode == Opcodes.IOR
                || opcode == Opcodes.IXOR
                || opcode == Opcodes.ISHL
                || opcode == Opcodes.ISHR
                || opcode == Opcodes.IUSHR;
    }

    /** An operation on two longs that never throws. */
    private static boolean isLongOperation(int opcode) {
        return opcode == Opcodes.LADD
                || opcode == Opcodes.LSUB
                || opcode == Opcodes.LMUL
                || opcode == Opcodes.LAND
                || opcode == Opcodes.LOR
                || opcode == Opcodes.LXOR;
    }

    /** Replace a store followed by a load with a copy on the stack. */
    private boolean improveReloaded(VarInsnNode store, AbstractInsnNode load) {
        int opcode = store.getOpcode();
        if (opcode < Opcodes.ISTORE
                || opcode > Opcodes.ASTORE
                || load.getOpcode() != opcode - Opcodes.ISTORE + Opcodes.ILOAD
                || ((VarInsnNode) load).var != store.var) {
            return false;
        }
        boolean single = opcode != Opcodes.LSTORE && opcode != Opcodes.DSTORE;
        code.insertBefore(store, new InsnNode(single ? Opcodes.DUP : Opcodes.DUP2));
        code.remove(load);
        return true;
    }

    private boolean improveArithmetic(AbstractInsnNode push, AbstractInsnNode operation) {
        Constant constant = ConstantInterpreter.pushed(push);
        if (constant == null || constant.isLong()) {
            return false;
        }
        int value = constant.intValue();
        int opcode = operation.getOpcode();
        if (value == 0 && (opcode == Opcodes.IADD || opcode == Opcodes.ISUB || opcode == Opcodes.IOR)
                || value == 1 && (opcode == Opcodes.IMUL || opcode == Opcodes.IDIV)) {
            code.remove(push);
            code.remove(operation);
            return true;
        }
        if (opcode == Opcodes.IMUL && value > 1 && Integer.bitCount(value) == 1) {
            Constant places = Constant.ofInt(Integer.numberOfTrailingZeros(value));
            code.set(push, ConstantPropagation.push(places));
            code.set(operation, new InsnNode(Opcodes.ISHL));
            return true;
        }
        return false;
    }
}
