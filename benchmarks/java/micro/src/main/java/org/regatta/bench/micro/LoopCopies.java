package org.regatta.bench.micro;

import java.io.IOException;
import java.io.InputStream;

/**
 * Creates copies of a loop class.
 *
 * <p>The JIT compiles a call by the targets that it has seen at this place in the class. In one class for all
 * operations, each call would have all of them as targets. In a copy that runs a single operation, the call is inlined
 * as in an application loop.
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
