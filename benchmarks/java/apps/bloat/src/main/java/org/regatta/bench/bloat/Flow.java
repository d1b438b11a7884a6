package org.regatta.bench.bloat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LookupSwitchInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TableSwitchInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;

/** The successors of each instruction of a method; labels, lines and frames count as instructions. */
final class Flow {
    private static final int[] NOWHERE = {};

    private final InsnList code;
    private final int[][] successors;
    private final int[][] handlers;

    Flow(MethodNode method) {
        code = method.instructions;
        successors = new int[code.size()][];
        handlers = new int[code.size()][];
        for (int i = 0; i < successors.length; i++) {
            successors[i] = successors(code.get(i), i);
            handlers[i] = NOWHERE;
        }
        for (TryCatchBlockNode block : method.tryCatchBlocks) {
            int handler = code.indexOf(block.handler);
            int end = code.indexOf(block.end);
            for (int i = code.indexOf(block.start); i < end; i++) {
                if (code.get(i).getOpcode() >= 0) {
                    handlers[i] = with(handlers[i], handler);
                }
            }
        }
    }

    /** @return the indices of possible next instructions, if no exception is thrown */
    int[] successors(int index) {
        return successors[index];
    }

    /** @return the indices of the handler labels for exceptions thrown by the instruction */
    int[] handlers(int index) {
        return handlers[index];
    }

    private int[] successors(AbstractInsnNode instruction, int index) {
        int opcode = instruction.getOpcode();
        if (instruction instanceof JumpInsnNode) {
            int target = code.indexOf(((JumpInsnNode) instruction).label);
            return opcode == Opcodes.GOTO ? new int[] {target} : new int[] {index + 1, target};
        }
        if (instruction instanceof TableSwitchInsnNode) {
            TableSwitchInsnNode choice = (TableSwitchInsnNode) instruction;
            return indices(choice.labels, choice.dflt);
        }
        if (instruction instanceof LookupSwitchInsnNode) {
            LookupSwitchInsnNode choice = (LookupSwitchInsnNode) instruction;
            return indices(choice.labels, choice.dflt);
        }
        boolean ends = opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN || opcode == Opcodes.ATHROW;
        return ends || index + 1 == code.size() ? NOWHERE : new int[] {index + 1};
    }

    private int[] indices(List<LabelNode> labels, LabelNode otherwise) {
        List<LabelNode> all = new ArrayList<>(labels);
        all.add(otherwise);
        return all.stream().mapToInt(code::indexOf).toArray();
    }

    private static int[] with(int[] some, int one) {
        int[] all = Arrays.copyOf(some, some.length + 1);
        all[some.length] = one;
        return all;
    }
}
