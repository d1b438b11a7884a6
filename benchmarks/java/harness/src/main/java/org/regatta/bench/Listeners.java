package org.regatta.bench;

import java.util.List;
import java.util.Map;

/** Forwards each event to several listeners in order. */
final class Listeners implements Listener {
    private static final String PROPERTY = "regatta.listener";

    private final List<Listener> listeners;

    Listeners(List<Listener> listeners) {
        this.listeners = listeners;
    }

    /**
     * @param first always included
     * @return {@code first}, followed by the listener named by the property {@code regatta.listener}
     * @throws UsageException if the class does not exist, is not a listener, or cannot be instantiated
     */
    static Listener withProperty(Listener first) throws UsageException {
        String name = System.getProperty(PROPERTY);
        return name == null ? first : new Listeners(List.of(first, make(name)));
    }

    private static Listener make(String name) throws UsageException {
        try {
            return Class.forName(name)
                    .asSubclass(Listener.class)
                    .getConstructor()
                    .newInstance();
        } catch (ReflectiveOperationException | ClassCastException | LinkageError e) {
            Throwable why = e.getCause() == null ? e : e.getCause();
            throw new UsageException("-D" + PROPERTY + ": expected a public class on the class path that implements "
                    + Listener.class.getName() + " and has a public constructor without parameters, got '" + name + "' ("
                    + why + ")");
        }
    }

    /** One call of a listener. */
    private interface Call {
        void of(Listener listener) throws Exception;
    }

    private void each(Call call) throws Exception {
        for (Listener listener : listeners) {
            call.of(listener);
        }
    }

    @Override
    public void started(Map<String, Object> info) throws Exception {
        each(listener -> listener.started(info));
    }

    @Override
    public void collected(int iteration) throws Exception {
        each(listener -> listener.collected(iteration));
    }

    @Override
    public void iterationStarting(int iteration) throws Exception {
        each(listener -> listener.iterationStarting(iteration));
    }

    @Override
    public void iterationStopped(int iteration) throws Exception {
        each(listener -> listener.iterationStopped(iteration));
    }

    @Override
    public void iterationEnded(int iteration, List<Measurement> measurements) throws Exception {
        each(listener -> listener.iterationEnded(iteration, measurements));
    }

    @Override
    public void requested(int iteration, List<Requests> logs) throws Exception {
        each(listener -> listener.requested(iteration, logs));
    }

    @Override
    public void validated(int iteration) throws Exception {
        each(listener -> listener.validated(iteration));
    }

    @Override
    public void digested(int iteration, String digest) throws Exception {
        each(listener -> listener.digested(iteration, digest));
    }

    @Override
    public void finished() throws Exception {
        each(Listener::finished);
    }

    @Override
    public void failed(Throwable cause) throws Exception {
        each(listener -> listener.failed(cause));
    }
}
