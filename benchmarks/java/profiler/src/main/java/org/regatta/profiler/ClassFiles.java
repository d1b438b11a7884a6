package org.regatta.profiler;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;

/** The class files of a running JVM, and the resolution of calls to declarations. */
final class ClassFiles {
    private static final ClassLoader PLATFORM = ClassLoader.getPlatformClassLoader();

    private final Map<String, Optional<ClassFile>> ofSystem = new ConcurrentHashMap<>();
    private final Map<ClassLoader, Map<String, Optional<ClassFile>>> ofApplication =
            Collections.synchronizedMap(new WeakHashMap<>());

    /** A method and its declaring class. */
    static final class Declaration {
        final ClassFile type;
        final boolean isAbstract;
        final boolean ofSystem;

        Declaration(ClassFile type, boolean isAbstract, boolean ofSystem) {
            this.type = type;
            this.isAbstract = isAbstract;
            this.ofSystem = ofSystem;
        }
    }

    /** @return whether a loader loads system classes: the boot loader or the platform loader */
    static boolean isOfSystem(ClassLoader loader) {
        return loader == null || loader == PLATFORM;
    }

    /** Store the data of an application class file. */
    void add(ClassLoader loader, ClassFile file) {
        of(loader).put(file.name, Optional.of(file));
    }

    /** @return the class file that this loader finds by a name; null: not found */
    ClassFile find(ClassLoader loader, String name) {
        // System classes first: every loader asks the platform loader before itself, or may not define java.*.
        ClassFile system = ofSystem(name);
        return system != null || isOfSystem(loader) ? system : ofApplication(loader, name);
    }

    boolean isSystem(String name) {
        return ofSystem(name) != null;
    }

    private ClassFile ofSystem(String name) {
        return ofSystem.computeIfAbsent(name, key -> name.startsWith("org/regatta/profiler/") ? Optional.empty() : read(PLATFORM, key))
                .orElse(null);
    }

    private ClassFile ofApplication(ClassLoader loader, String name) {
        Map<String, Optional<ClassFile>> known = of(loader);
        Optional<ClassFile> found = known.get(name);
        if (found == null) {
            // Not with computeIfAbsent: a loader may load other classes meanwhile.
            for (ClassLoader above = loader.getParent(); found == null && !isOfSystem(above); above = above.getParent()) {
                found = of(above).get(name);
            }
            if (found == null) {
                found = read(loader, name);
            }
            known.put(name, found);
        }
        return found.orElse(null);
    }

    private Map<String, Optional<ClassFile>> of(ClassLoader loader) {
        return ofApplication.computeIfAbsent(loader, key -> new ConcurrentHashMap<>());
    }

    private static Optional<ClassFile> read(ClassLoader loader, String name) {
        try (InputStream stream = loader.getResourceAsStream(name + ".class")) {
            return stream == null ? Optional.empty() : Optional.of(new ClassFile(new ClassReader(stream)));
        } catch (IOException | RuntimeException e) {
            return Optional.empty();
        }
    }

    /**
     * Find the declaration that the JVM selects for a receiver (The Java Virtual Machine Specification, 5.4.6), or for a name in
     * an instruction (5.4.3.3).
     *
     * @param method name and descriptor
     * @return null: not found
     */
    Declaration select(ClassLoader loader, ClassFile type, String method) {
        Set<ClassFile> interfaces = new LinkedHashSet<>();
        for (ClassFile at = type; at != null; at = at.superName == null ? null : find(loader, at.superName)) {
            Integer access = at.accessOf(method);
            if (access != null && (!at.isInterface || at == type || at.superName == null)) {
                return declaration(at, access);
            }
            if (at.isInterface) {
                // Object is the super class of an interface only formally; super-interfaces come first.
                addInterfaces(loader, at, interfaces);
                Declaration found = mostSpecific(loader, interfaces, method);
                if (found != null) {
                    return found;
                }
            } else {
                addInterfaces(loader, at, interfaces);
            }
        }
        return mostSpecific(loader, interfaces, method);
    }

    private Declaration declaration(ClassFile type, int access) {
        return new Declaration(type, (access & Opcodes.ACC_ABSTRACT) != 0, isSystem(type.name));
    }

    private void addInterfaces(ClassLoader loader, ClassFile type, Set<ClassFile> interfaces) {
        Deque<String> names = new ArrayDeque<>(type.interfaces);
        while (!names.isEmpty()) {
            ClassFile found = find(loader, names.remove());
            if (found != null && interfaces.add(found)) {
                names.addAll(found.interfaces);
            }
        }
    }

    /** Of the interfaces that declare the method, return one that no other extends; prefer one with a body. */
    private Declaration mostSpecific(ClassLoader loader, Set<ClassFile> interfaces, String method) {
        Declaration best = null;
        for (ClassFile candidate : interfaces) {
            Integer access = candidate.accessOf(method);
            if (access == null || (access & (Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE)) != 0) {
                continue;
            }
            Declaration found = declaration(candidate, access);
            if (best == null || isAbove(loader, best.type, candidate) || best.isAbstract && !found.isAbstract
                    && !isAbove(loader, candidate, best.type)) {
                best = found;
            }
        }
        return best;
    }

    private boolean isAbove(ClassLoader loader, ClassFile above, ClassFile below) {
        Set<ClassFile> all = new LinkedHashSet<>();
        addInterfaces(loader, below, all);
        return all.contains(above);
    }
}
