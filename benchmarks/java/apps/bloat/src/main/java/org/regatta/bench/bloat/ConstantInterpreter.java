package org.regatta.bench.bloat;

import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.IincInsnNode;
import org.objectweb.asm.tree.IntInsnNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.BasicInterpreter;
import org.objectweb.asm.tree.analysis.BasicValue;

/** Executes instructions on types, and on the values of integers where known. */
final class ConstantInterpreter extends BasicInterpreter {
    ConstantInterpreter() {
        super(ASM9);
    }

    @Override
    public BasicValue newOperation(AbstractInsnNode instruction) throws AnalyzerException {
        Constant constant = pushed(instruction);
        return constant == null ? super.newOperation(instruction) : constant;
    }

    @Override
    public BasicValue unaryOperation(AbstractInsnNode instruction, BasicValue value) throws AnalyzerException {
        Constant result = value instanceof Constant ? unary(instruction, (Constant) value) : null;
        return result == null ? super.unaryOperation(instruction, value) : result;
    }

    @Override
    public BasicValue binaryOperation(AbstractInsnNode instruction, BasicValue left, BasicValue right)
            throws AnalyzerException {
        Constant result = left instanceof Constant && right instanceof Constant
                ? binary(instruction.getOpcode(), (Constant) left, (Constant) right)
                : null;
        return result == null ? super.binaryOperation(instruction, left, right) : result;
    }

    /** Two different constants of a type merge to any value of that type. */
    @Override
    public BasicValue merge(BasicValue first, BasicValue second) {
        if (first.equals(second)) {
            return first;
        }
        BasicValue firstPlain = plain(first);
        return firstPlain.equals(plain(second)) ? firstPlain : BasicValue.UNINITIALIZED_VALUE;
    }

    private static BasicValue plain(BasicValue value) {
        if (value instanceof Constant) {
            return ((Constant) value).isLong() ? BasicValue.LONG_VALUE : BasicValue.INT_VALUE;
        }
        return value;
    }

    /** @return the integer that an instruction pushes; null for other instructions */
    static Constant pushed(AbstractInsnNode instruction) {
        int opcode = instruction.getOpcode();
        if (opcode >= Opcodes.ICONST_M1 && opcode <= Opcodes.ICONST_5) {
            return Constant.ofInt(opcode - Opcodes.ICONST_0);
        }
        if (opcode == Opcodes.LCONST_0 || opcode == Opcodes.LCONST_1) {
            return Constant.ofLong(opcode - Opcodes.LCONST_0);
        }
        if (opcode == Opcodes.BIPUSH || opcode == Opcodes.SIPUSH) {
            return Constant.ofInt(((IntInsnNode) instruction).operand);
        }
        if (opcode == Opcodes.LDC) {
            Object value = ((LdcInsnNode) instruction).cst;
            if (value instanceof Integer) {
                return Constant.ofInt((Integer) value);
            }
            if (value instanceof Long) {
                return Constant.ofLong((Long) value);
            }
        }
        return null;
    }

    private static Constant unary(AbstractInsnNode instruction, Constant value) {
        switch (instruction.getOpcode()) {
            case Opcodes.IINC:
                return Constant.ofInt(value.intValue() + ((IincInsnNode) instruction).incr);
            case Opcodes.INEG:
                return Constant.ofInt(-value.intValue());
            case Opcodes.LNEG:
                return Constant.ofLong(-value.longValue());
            case Opcodes.I2L:
                return Constant.ofLong(value.intValue());
            case Opcodes.L2I:
                return Constant.ofInt((int) value.longValue());
            case Opcodes.I2B:
                return Constant.ofInt((byte) value.intValue());
            case Opcodes.I2C:
                return Constant.ofInt((char) value.intValue());
            case Opcodes.I2S:
                return Constant.ofInt((short) value.intValue());
            default:
                return null;
        }
    }

    private static Constant binary(int opcode, Constant left, Constant right) {
        if (opcode == Opcodes.LCMP) {
            return Constant.ofInt(Long.compare(left.longValue(), right.longValue()));
        }
        return left.isLong()
                ? ofLongs(opcode, left.longValue(), right)
                : ofInts(opcode, left.intValue(), right.intValue());
    }

    private static Constant ofInts(int opcode, int left, int right) {
        switch (opcode) {
            case Opcodes.IADD:
                return Constant.ofInt(left + right);
            case Opcodes.ISUB:
                return Constant.ofInt(left - right);
            case Opcodes.IMUL:
                return Constant.ofInt(left * right);
            case Opcodes.IAND:
                return Constant.ofInt(left & right);
            case Opcodes.IOR:
                return Constant.ofInt(left | right);
            case Opcodes.IXOR:
                return Constant.ofInt(left ^ right);
            case Opcodes.ISHL:
                return Constant.ofInt(left << right);
            case Opcodes.ISHR:
                return Constant.ofInt(left >> right);
            case Opcodes.IUSHR:
                return Constant.ofInt(left >>> right);
            default:
                // Divisions may throw, and comparisons are branches.
                return null;
        }
    }

    private static Constant ofLongs(int opcode, long left, Constant right) {
        switch (opcode) {
            case Opcodes.LADD:
                return Constant.ofLong(left + right.longValue());
            case Opcodes.LSUB:
                return Constant.ofLong(left - right.longValue());
            case Opcodes.LMUL:
                return Constant.ofLong(left * right.longValue());
            case Opcodes.LAND:
                return Constant.ofLong(left & right.longValue());
            case Opcodes.LOR:
                return Constant.ofLong(left | right.longValue());
            case Opcodes.LXOR:
                return Constant.ofLong(left ^ right.longValue());
            case Opcodes.LSHL:
                return Constant.ofLong(left << right.intValue());
            case Opcodes.LSHR:
                return Constant.ofLong(left >> right.intValue());
            case Opcodes.LUSHR:
                return Constant.ofLong(left >>> right.intValue());
            default:
                return null;
        }
    }
}
