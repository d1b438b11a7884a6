package org.regatta.bench.vm.javac;

import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;
import org.regatta.bench.inputs.SourceTree;

/**
 * What compiled methods return: their code differs between releases of javac, what it computes does not.
 *
 * <p>Only methods that call no other class of the source tree are called. They end, the others may recurse for ever.
 */
final class CompiledMethods {
    /** How each method of the source tree begins, and what stands before a name of another class. */
    private static final String METHOD = "public static long ";

    private static final String OTHER_CLASS = "gen.p";

    /** In none of the methods special, but for loops it is some turns. */
    private static final long X = 1_234_567_890_123L;

    private static final int Y = 5;

    private CompiledMethods() {}

    /** @return the binary name of a file's class: {@code gen.p0.C7} */
    static String className(SourceTree.Unit source) {
        return source.path().replace(".java", "").replace('/', '.');
    }

    /**
     * Calls the methods of one class.
     *
     * @param compiled the class
     * @param source what it was compiled from
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
                // An exhausted heap is not the compiler's mistake.
                throw (VirtualMachineError) why;
            }
            throw new WrongResultException("the compiled method " + compiled.getName() + "." + name + " fails: " + why);
        }
    }
}
