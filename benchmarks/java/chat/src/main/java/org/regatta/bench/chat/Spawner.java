package org.regatta.bench.chat;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Starts threads of one kind. */
interface Spawner {
    void start(String name, Runnable task);

    /** Threads of the operating system. */
    static Spawner platform() {
        return (name, task) -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            thread.start();
        };
    }

    /**
     * Virtual threads, looked up by name: the jar must also run on releases without them.
     *
     * @throws NotPossibleException if this JVM has none
     */
    static Spawner virtual() throws NotPossibleException {
        Object builder;
        Method start;
        try {
            builder = Thread.class.getMethod("ofVirtual").invoke(null);
            // The class of the builder is hidden inside the JDK; its interface is not.
            start = Class.forName("java.lang.Thread$Builder").getMethod("start", Runnable.class);
        } catch (InvocationTargetException e) {
            throw new NotPossibleException("virtual threads are a preview in release " + release());
        } catch (ReflectiveOperationException e) {
            throw new NotPossibleException("release " + release() + " has no virtual threads, 21 and later have");
        }
        return (name, task) -> {
            try {
                start.invoke(builder, task);
            } catch (InvocationTargetException e) {
                if (e.getCause() instanceof Error) {
                    throw (Error) e.getCause();
                }
                throw new IllegalStateException(e.getCause());
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        };
    }

    private static int release() {
        return Runtime.version().feature();
    }
}
