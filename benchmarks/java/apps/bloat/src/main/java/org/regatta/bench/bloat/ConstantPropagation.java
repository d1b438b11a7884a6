package org.regatta.bench.bloat;

import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.IntInsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.analysis.Analyzer;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.BasicValue;
import org.objectweb.asm.tree.analysis.Frame;

/** Replaces expressions with a constant integer value by that value, and removes branches with a constant outcome. */
final class ConstantPropagation {
    private final String owner;
    private final MethodNode method;
    private final InsnList code;
    private final Changes changes;

    ConstantPropagation(String owner, MethodNode method, Changes changes) {
        this.owner = owner;
        this.method = method;
        this.code = method.instructions;
        this.changes = changes;
    }

    void run() throws AnalyzerException {
        Frame<BasicValue>[] frames = new Analyzer<>(new ConstantInterpreter()).analyze(owner, method);
        AbstractInsnNode[] instructions = code.toArray();
        for (int i = 0; i < instructions.length; i++) {
            // Unreachable instructions have no frame.
            if (frames[i] != null && instructions[i].getOpcode() >= 0) {
                change(instructions[i], frames[i]);
            }
        }
    }

    private void change(AbstractInsnNode instruction, Frame<BasicValue> before) throws AnalyzerException {
        int opcode = instruction.getOpcode();
        if (opcode == Opcodes.ILOAD || opcode == Opcodes.LLOAD || isFoldable(opcode)) {
            fold(instruction, before);
        } else if (instruction instanceof JumpInsnNode) {
            decide((JumpInsnNode) instruction, before);
        }
    }

    private static boolean isFoldable(int opcode) {
        return opcode >= Opcodes.IADD && opcode <= Opcodes.LXOR
                || opcode >= Opcodes.I2L && opcode <= Opcodes.I2S
                || opcode == Opcodes.LCMP;
    }

    private void fold(AbstractInsnNode instruction, Frame<BasicValue> before) throws AnalyzerException {
        Frame<BasicValue> after = new Frame<>(before);
        after.execute(instruction, new ConstantInterpreter());
        BasicValue result = after.getStack(after.getStackSize() - 1);
        if (!(result instanceof Constant)) {
            return;
        }
        changes.constants++;
        int operands = before.getStackSize() - after.getStackSize() + 1;
        dropOperands(instruction, before, operands);
        code.set(instruction, push((Constant) result));
    }

    private void decide(JumpInsnNode jump, Frame<BasicValue> before) {
        int operands = operands(jump.getOpcode());
        if (operands == 0) {
            return;
        }
        BasicValue top = before.getStack(before.getStackSize() - 1);
        BasicValue below = operands == 2 ? before.getStack(before.getStackSize() - 2) : Constant.ofInt(0);
        if (!(top instanceof Constant) || !(below instanceof Constant)) {
            return;
        }
        changes.branches++;
        int left = ((Constant) (operands == 2 ? below : top)).intValue();
        int right = ((Constant) (operands == 2 ? top : below)).intValue();
        dropOperands(jump, before, operands);
        if (isTaken(jump.getOpcode(), left, right)) {
            code.set(jump, new JumpInsnNode(Opcodes.GOTO, jump.label));
        } else {
            code.remove(jump);
        }
    }

    /** Branches on integers. */
    private static int operands(int opcode) {
        if (opcode >= Opcodes.IFEQ && opcode <= Opcodes.IFLE) {
            return 1;
        }
        return opcode >= Opcodes.IF_ICMPEQ && opcode <= Opcodes.IF_ICMPLE ? 2 : 0;
    }

    private static boolean isTaken(int opcode, int left, int right) {
        switch (opcode) {
            case Opcodes.IFEQ:
            case Opcodes.IF_ICMPEQ:
                return left == right;
            case Opcodes.IFNE:
            case Opcodes.IF_ICMPNE:
                return left != right;
            case Opcodes.IFLT:
            case Opcodes.IF_ICMPLT:
                return left < right;
            case Opcodes.IFGE:
            case Opcodes.IF_ICMPGE:
                return left >= right;
            case Opcodes.IFGT:
            case Opcodes.IF_ICMPGT:
                return left > right;
            default:
                return left <= right;
        }
    }

    private void dropOperands(AbstractInsnNode instruction, Frame<BasicValue> before, int count) {
        for (int i = 1; i <= count; i++) {
            int size = before.getStack(before.getStackSize() - i).getSize();
            code.insertBefore(instruction, new InsnNode(size == 1 ? Opcodes.POP : Opcodes.POP2));
        }
    }

    /** @return the shortest instruction that pushes it */
    static AbstractInsnNode push(Constant constant) {
        if (constant.isLong()) {
            long value = constant.longValue();
            boolean isShort = value == 0 || value == 1;
            return isShort ? new InsnNode(Opcodes.LCONST_0 + (int) value) : new LdcInsnNode(value);
        }
        int value = constant.intValue();
        if (value >= -1 && value <= 5) {
            return new InsnNode(Opcodes.ICONST_0 + value);
        }
        if (value == (byte) value) {
            return new IntInsnNode(Opcodes.BIPUSH, value);
        }
        return value == (short) value ? new IntInsnNode(Opcodes.SIPUSH, value) : new LdcInsnNode(value);
    }
}
