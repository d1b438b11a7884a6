package org.regatta.profiler;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A call in the application whose receiver determines its target. */
final class Site {
    private final ClassFiles files;
    private final ClassLoader loader;
    private final ClassFile owner;
    private final String method;
    private final Map<Class<?>, Target> targets = new ConcurrentHashMap<>();
    private volatile Target last = new Target(null, Counts.NOT_COUNTED);

    /**
     * @param loader of the calling class
     * @param owner named by the instruction; null: its class file was not found
     * @param method name and descriptor
     */
    Site(ClassFiles files, ClassLoader loader, ClassFile owner, String method) {
        this.files = files;
        this.loader = loader;
        this.owner = owner;
        this.method = method;
    }

    /** In one object, so that both become visible together. */
    private static final class Target {
        final Class<?> receiver;
        final int id;

        Target(Class<?> receiver, int id) {
            this.receiver = receiver;
            this.id = id;
        }
    }

    /** @return the number of the system method that a call with such a receiver reaches, or NOT_COUNTED */
    int target(Class<?> receiver) {
        Target seen = last;
        if (seen.receiver != receiver) {
            seen = targets.computeIfAbsent(receiver, type -> new Target(type, find(type)));
            last = seen;
        }
        return seen.id;
    }

    private int find(Class<?> receiver) {
        ClassLoader its = receiver.getClassLoader();
        ClassFile file = files.find(its, receiver.isArray() ? "java/lang/Object" : receiver.getName().replace('.', '/'));
        ClassFiles.Declaration declared;
        if (file != null) {
            declared = files.select(its, file, method);
        } else if (owner != null) {
            // A hidden class, usually a lambda: it implements the abstract methods, and inherits the others.
            declared = files.select(loader, owner, method);
            if (declared != null && declared.isAbstract) {
                return ClassFiles.isOfSystem(its) && declared.ofSystem ? Counts.idOf(declared.type.name, method) : Counts.NOT_COUNTED;
            }
        } else {
            declared = null;
        }
        boolean counted = declared != null && declared.ofSystem && !declared.isAbstract;
        return counted ? Counts.idOf(declared.type.name, method) : Counts.NOT_COUNTED;
    }
}
