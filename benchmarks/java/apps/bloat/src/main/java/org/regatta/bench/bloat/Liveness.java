package org.regatta.bench.bloat;

import java.util.Arrays;
import java.util.BitSet;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.IincInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;

/** The live local variables before each instruction: a backward data-flow analysis. */
final class Liveness {
    private final AbstractInsnNode[] instructions;
    private final Flow flow;
    private final BitSet[] before;

    Liveness(MethodNode method) {
        instructions = method.instructions.toArray();
        flow = new Flow(method);
        before = new BitSet[instructions.length];
        Arrays.setAll(before, i -> new BitSet(method.maxLocals));
    }

    BitSet[] before() {
        boolean changed = true;
        while (changed) {
            changed = false;
            for (int i = instructions.length - 1; i >= 0; i--) {
                changed |= update(i);
            }
        }
        return before;
    }

    private boolean update(int index) {
        BitSet live = new BitSet();
        for (int next : flow.successors(index)) {
            live.or(before[next]);
        }
        AbstractInsnNode instruction = instructions[index];
        if (DeadStores.isStore(instruction)) {
            live.clear(((VarInsnNode) instruction).var);
        } else if (instruction instanceof VarInsnNode) {
            live.set(((VarInsnNode) instruction).var);
        } else if (instruction instanceof IincInsnNode) {
            live.set(((IincInsnNode) instruction).var);
        }
        // An exception is thrown before an instruction has any effect.
        for (int handler : flow.handlers(index)) {
            live.or(before[handler]);
        }
        if (live.equals(before[index])) {
            return false;
        }
        before[index] = live;
        return true;
    }
}
