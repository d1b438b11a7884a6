package org.regatta.bench.micro;

import java.io.IOException;
import java.io.InputStream;

/**
 * Makes copies of a loop's class.
 *
 * <p>The JIT compiles a call by what it has seen at its place in the class. In one class for all operations, each call
 * would be a call of any of them. In a copy that runs a single operation, it is inlined as in an application's own loop.
 */
final class LoopCopies extends ClassLoader {
    private LoopCopies() {
        super(LoopCopies.class.getClassLoader());
    }

    /** @param implementation a class with a public constructor without parameters */
    static Loop copyOf(Class<? extends Loop> implementation) throws IOException, ReflectiveOperationException {
        String file = implementation.getSimpleName() + ".class";
        try (InputStream in = implementation.getResourceAsStream(file)) {
            byte[] bytes = in.readAllBytes();
            Class<?> copy = new LoopCopies().defineClass(implementation.getName(), bytes, 0, bytes.length);
            return (Loop) copy.getConstructor().newInstance();
        }
    }
}
