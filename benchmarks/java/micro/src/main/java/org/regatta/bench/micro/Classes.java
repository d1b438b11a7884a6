package org.regatta.bench.micro;

import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;

final class Classes extends Group {
    @Override
    void addOperations() throws Exception {
        String fresh = Fresh.class.getName();
        byte[] bytes;
        try (InputStream in = Classes.class.getResourceAsStream("Fresh.class")) {
            bytes = in.readAllBytes();
        }
        object("class_for_name", i -> Class.forName(fresh));
        object("class_for_name_fresh", i -> Class.forName(fresh, true, new FreshLoader(bytes)));
        object("class_load_fresh", i -> new FreshLoader(bytes).loadClass(fresh));
        Class<?>[] classes = {Fresh.class, Classes.class};
        object("class_get_name", i -> classes[(int) i & 1].getName(), i -> classes[(int) i & 1]);
        Method method = Fresh.class.getMethod("own");
        Fresh[] objects = {new Fresh(), new Fresh()};
        ObjectOperation receiver = i -> objects[(int) i & 1];
        object("method_invoke", i -> method.invoke(objects[(int) i & 1]), receiver);
        Constructor<Fresh> constructor = Fresh.class.getConstructor();
        object("constructor_new_instance", i -> constructor.newInstance());
        MethodHandle handle =
                MethodHandles.lookup().findVirtual(Fresh.class, "own", MethodType.methodType(Object.class));
        object("method_handle_invoke", i -> invoke(handle, objects[(int) i & 1]), receiver);
    }

    private static Object invoke(MethodHandle handle, Fresh object) {
        try {
            return (Object) handle.invokeExact(object);
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    /** Defines a separate copy of a class. */
    private static final class FreshLoader extends ClassLoader {
        private final byte[] bytes;

        FreshLoader(byte[] bytes) {
            super(ClassLoader.getPlatformClassLoader());
            this.bytes = bytes;
        }

        @Override
        protected Class<?> findClass(String name) {
            return defineClass(name, bytes, 0, bytes.length);
        }
    }
}
