package org.regatta.bench.bloat;

import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;

/** Inserts instructions that count method entries and loop iterations. */
final class Instrumentation {
    private final Changes changes;
    private int places;

    Instrumentation(Changes changes) {
        this.changes = changes;
    }

    void run(MethodNode method) {
        InsnList code = method.instructions;
        List<JumpInsnNode> backward = new ArrayList<>();
        for (int i = 0; i < code.size(); i++) {
            if (code.get(i) instanceof JumpInsnNode && code.indexOf(((JumpInsnNode) code.get(i)).label) < i) {
                backward.add((JumpInsnNode) code.get(i));
            }
        }
        for (JumpInsnNode jump : backward) {
            code.insertBefore(jump, counter());
        }
        code.insert(counter());
    }

    private InsnList counter() {
        changes.counters++;
        InsnList counter = new InsnList();
        counter.add(ConstantPropagation.push(Constant.ofInt(places++)));
        counter.add(new MethodInsnNode(
                Opcodes.INVOKESTATIC, Counters.INTERNAL_NAME, Counters.METHOD, Counters.DESCRIPTOR, false));
        return counter;
    }
}
