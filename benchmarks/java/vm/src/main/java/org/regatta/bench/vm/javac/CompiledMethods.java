package org.regatta.bench.vm.javac;

import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;
import org.regatta.bench.inputs.SourceTree;

/**
 * The return values of compiled methods: their code differs between releases of javac, their results do not.
 *
 * <p>Calls only methods that call no other class of the source tree. They terminate; the others may recurse without
 * end.
 */
final class CompiledMethods {
    /** The beginning of each method in the source tree, and the prefix of a name of another class. */
    private static final String METHOD = "public static long ";

    private static final String OTHER_CLASS = "gen.p";

    /** Arbitrary arguments; loops run only a few times. */
    private static final long X = 1_234_567_890_123L;

    private static final int Y = 5;

    private CompiledMethods() {}

    /** @return the binary name of the class of a file: {@code gen.p0.C7} */
    static String className(SourceTree.Unit source) {
        return source.path().replace(".java", "").replace('/', '.');
    }

    /**
     * Call the methods of one class.
     *
     * @param compiled the class
     * @param source its source
     * @throws WrongResultException if a method is missing or fails
     */
    static void digest(Class<?> compiled, SourceTree.Unit source, OutputDigest out) throws WrongResultException {
        String[] methods = new String(source.text()).split(METHOD);
        for (int i = 1; i < methods.length; i++) {
            if (!methods[i].contains(OTHER_CLASS)) {
                String name = methods[i].substring(0, methods[i].indexOf('('));
                out.put(name).put(call(compiled, name));
            }
        }
    }

    private static long call(Class<?> compiled, String name) throws WrongResultException {
        try {
            return (Long) compiled.getMethod(name, long.class, int.class).invoke(null, X, Y);
        } catch (ReflectiveOperationException e) {
            Throwable why = e.getCause() == null ? e : e.getCause();
            if (why instanceof VirtualMachineError) {
                // An exhausted heap is not an error of the compiler.
                throw (VirtualMachineError) why;
            }
            throw new WrongResultException("the compiled method " + compiled.getName() + "." + name + " fails: " + why);
        }
    }
}
