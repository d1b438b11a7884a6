package org.regatta.bench.bloat;

import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.MethodNode;

/** Removes unreachable instructions, and data that only they use. */
final class Reachability {
    private final MethodNode method;
    private final Changes changes;

    Reachability(MethodNode method, Changes changes) {
        this.method = method;
        this.changes = changes;
    }

    void run() {
        removeUnreached();
        // A class file must not contain an empty block; its successors are already unreachable.
        method.tryCatchBlocks.removeIf(block -> isEmpty(block.start, block.end));
        removeCoveredFrames();
    }

    private void removeUnreached() {
        BitSet reached = reached();
        AbstractInsnNode[] instructions = method.instructions.toArray();
        for (int i = 0; i < instructions.length; i++) {
            if (!reached.get(i) && !(instructions[i] instanceof LabelNode)) {
                changes.unreachable++;
                method.instructions.remove(instructions[i]);
            }
        }
    }

    private BitSet reached() {
        Flow flow = new Flow(method);
        BitSet reached = new BitSet();
        Deque<Integer> left = new ArrayDeque<>();
        left.add(0);
        reached.set(0);
        while (!left.isEmpty()) {
            int index = left.remove();
            visit(flow.successors(index), reached, left);
            visit(flow.handlers(index), reached, left);
        }
        return reached;
    }

    private static void visit(int[] next, BitSet reached, Deque<Integer> left) {
        for (int index : next) {
            if (!reached.get(index)) {
                reached.set(index);
                left.add(index);
            }
        }
    }

    private static boolean isEmpty(LabelNode start, LabelNode end) {
        for (AbstractInsnNode node = start; node != end; node = node.getNext()) {
            if (node.getOpcode() >= 0) {
                return false;
            }
        }
        return true;
    }

    /** Of two adjacent frames only the later one may stay: it follows from both. */
    private void removeCoveredFrames() {
        FrameNode before = null;
        for (AbstractInsnNode node : method.instructions.toArray()) {
            if (node.getOpcode() >= 0) {
                before = null;
            } else if (node instanceof FrameNode) {
                if (before != null) {
                    method.instructions.remove(before);
                }
                before = (FrameNode) node;
            }
        }
    }
}
