package org.regatta.bench.ecj;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.eclipse.jdt.core.compiler.CategorizedProblem;
import org.eclipse.jdt.internal.compiler.ClassFile;
import org.eclipse.jdt.internal.compiler.CompilationResult;
import org.eclipse.jdt.internal.compiler.Compiler;
import org.eclipse.jdt.internal.compiler.DefaultErrorHandlingPolicies;
import org.eclipse.jdt.internal.compiler.batch.CompilationUnit;
import org.eclipse.jdt.internal.compiler.batch.FileSystem;
import org.eclipse.jdt.internal.compiler.classfmt.ClassFileConstants;
import org.eclipse.jdt.internal.compiler.env.ICompilationUnit;
import org.eclipse.jdt.internal.compiler.impl.CompilerOptions;
import org.eclipse.jdt.internal.compiler.problem.DefaultProblemFactory;
import org.eclipse.jdt.internal.compiler.util.Util;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;
import org.regatta.bench.inputs.SourceTree;

/**
 * Compiles a seeded source tree with the Eclipse compiler, from memory to memory; the output is the class files.
 *
 * <p>The compiler reads the class library of the running JVM. The class files are the same everywhere: the sources use
 * only declarations that have not changed since release 17, and source and target level are fixed.
 */
final class EcjBenchmark implements Benchmark {
    static final int MAX_SIZE = 1000;
    private static final int CLASSES_PER_SIZE = 10;

    private List<SourceTree.Unit> sources;
    private Map<String, byte[]> classFiles;
    private List<String> errors;

    /** The compiler itself needs release 17. */
    @Override
    public void probe() {
        options();
    }

    @Override
    public void setup(int size, long seed) {
        sources = new SourceTree(new Random(seed), size * CLASSES_PER_SIZE).units();
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        classFiles = new TreeMap<>();
        errors = new ArrayList<>();
    }

    @Override
    public long iterate(int iteration) {
        ICompilationUnit[] units = new ICompilationUnit[sources.size()];
        for (int i = 0; i < units.length; i++) {
            SourceTree.Unit source = sources.get(i);
            units[i] = new CompilationUnit(source.text(), source.path(), null);
        }
        ClassLibrary library = ClassLibrary.ofThisJvm();
        try {
            Compiler compiler = new Compiler(
                    library,
                    DefaultErrorHandlingPolicies.proceedWithAllProblems(),
                    options(),
                    this::accept,
                    new DefaultProblemFactory());
            // One thread: the same work in the same order in every iteration.
            compiler.useSingleThread = true;
            compiler.compile(units);
        } finally {
            library.cleanup();
        }
        long bytes = 0;
        for (byte[] classFile : classFiles.values()) {
            bytes += classFile.length;
        }
        return bytes;
    }

    @Override
    public void digest(OutputDigest out) throws WrongResultException {
        if (!errors.isEmpty()) {
            throw new WrongResultException(
                    "the source tree does not compile: " + errors.size() + " errors, first " + errors.get(0));
        }
        classFiles.forEach((name, bytes) -> out.put(name).put(bytes, bytes.length));
    }

    private void accept(CompilationResult result) {
        CategorizedProblem[] problems = result.getErrors();
        if (problems != null) {
            for (CategorizedProblem problem : problems) {
                errors.add(String.valueOf(problem));
            }
        }
        for (ClassFile classFile : result.getClassFiles()) {
            classFiles.put(String.valueOf(classFile.fileName()), classFile.getBytes());
        }
    }

    private static CompilerOptions options() {
        CompilerOptions options = new CompilerOptions();
        options.complianceLevel = ClassFileConstants.JDK17;
        options.sourceLevel = ClassFileConstants.JDK17;
        options.targetJDK = ClassFileConstants.JDK17;
        options.produceDebugAttributes =
                ClassFileConstants.ATTR_SOURCE | ClassFileConstants.ATTR_LINES | ClassFileConstants.ATTR_VARS;
        return options;
    }

    /** The classes of the running JVM, for lookups by the compiler. */
    private static final class ClassLibrary extends FileSystem {
        private ClassLibrary(Classpath[] paths) {
            super(paths, new String[0], false);
        }

        static ClassLibrary ofThisJvm() {
            List<Classpath> paths = new ArrayList<>();
            Util.collectRunningVMBootclasspath(paths);
            return new ClassLibrary(paths.toArray(new Classpath[0]));
        }
    }
}
