package org.regatta.bench.micro;

/** Runs an operation many times. Each operation has a separate copy of an implementation: see {@link LoopCopies}. */
public interface Loop {
    /**
     * @param operation a {@link ValueOperation} or an {@link ObjectOperation}, as the implementation expects
     * @return depends on all of the work
     */
    long run(Object operation, long times) throws Exception;
}
