package org.regatta.bench.bloat;

import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.analysis.AnalyzerException;

/**
 * Reads a class file, changes its methods, and writes it.
 *
 * <p>The frames of the compiler are kept and adjusted where needed, not recomputed: recomputation needs the
 * super-classes of all platform classes, which differ between JVMs.
 */
final class Rewriter {
    private final Changes changes;
    private final Instrumentation instrumentation;

    Rewriter(Changes changes) {
        this.changes = changes;
        this.instrumentation = new Instrumentation(changes);
    }

    byte[] rewrite(byte[] classFile) throws AnalyzerException {
        ClassNode node = new ClassNode();
        new ClassReader(classFile).accept(node, ClassReader.EXPAND_FRAMES);
        for (MethodNode method : node.methods) {
            if (method.instructions.size() > 0) {
                rewrite(node.name, method);
            }
        }
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        node.accept(writer);
        return writer.toByteArray();
    }

    private void rewrite(String owner, MethodNode method) throws AnalyzerException {
        changes.methods++;
        new ConstantPropagation(owner, method, changes).run();
        new Reachability(method, changes).run();
        new Peephole(method, changes).run();
        new DeadStores(method, changes).run();
        new Peephole(method, changes).run();
        new Reachability(method, changes).run();
        instrumentation.run(method);
    }
}
