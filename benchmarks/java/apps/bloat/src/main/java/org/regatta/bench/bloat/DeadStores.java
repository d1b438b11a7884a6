package org.regatta.bench.bloat;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.IincInsnNode;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;

/** Removes stores to a local variable that is not read afterwards. */
final class DeadStores {
    private final MethodNode method;
    private final Changes changes;

    DeadStores(MethodNode method, Changes changes) {
        this.method = method;
        this.changes = changes;
    }

    void run() {
        BitSet[] live = new Liveness(method).before();
        AbstractInsnNode[] instructions = method.instructions.toArray();
        // Frames first: afterwards, a variable in a frame may never have been stored.
        for (int i = 0; i < instructions.length; i++) {
            if (instructions[i] instanceof FrameNode) {
                forget((FrameNode) instructions[i], live[i]);
            }
        }
        for (int i = 0; i + 1 < instructions.length; i++) {
            AbstractInsnNode instruction = instructions[i];
            if (isStore(instruction) && !live[i + 1].get(((VarInsnNode) instruction).var)) {
                drop((VarInsnNode) instruction);
            } else if (instruction instanceof IincInsnNode && !live[i + 1].get(((IincInsnNode) instruction).var)) {
                changes.deadStores++;
                method.instructions.remove(instruction);
            }
        }
    }

    static boolean isStore(AbstractInsnNode instruction) {
        int opcode = instruction.getOpcode();
        return opcode >= Opcodes.ISTORE && opcode <= Opcodes.ASTORE;
    }

    private void drop(VarInsnNode store) {
        changes.deadStores++;
        boolean single = store.getOpcode() != Opcodes.LSTORE && store.getOpcode() != Opcodes.DSTORE;
        method.instructions.set(store, new InsnNode(single ? Opcodes.POP : Opcodes.POP2));
    }

    /** Remove dead variables from a frame. */
    private void forget(FrameNode frame, BitSet live) {
        if (frame.local == null) {
            return;
        }
        List<Object> kept = new ArrayList<>();
        int variable = 0;
        for (Object type : frame.local) {
            boolean isWide = Opcodes.LONG.equals(type) || Opcodes.DOUBLE.equals(type);
            // In a constructor, the verifier tracks whether `this` is initialised, even if it is not read.
            boolean isThis = variable == 0 && method.name.equals("<init>");
            if (live.get(variable) || isThis) {
                kept.add(type);
            } else {
                kept.add(Opcodes.TOP);
                if (isWide) {
                    kept.add(Opcodes.TOP);
                }
            }
            variable += isWide ? 2 : 1;
        }
        // The method may have fewer variables now: the verifier rejects a frame with more than that.
        while (!kept.isEmpty() && kept.get(kept.size() - 1) == Opcodes.TOP) {
            kept.remove(kept.size() - 1);
        }
        frame.local = kept;
    }
}
