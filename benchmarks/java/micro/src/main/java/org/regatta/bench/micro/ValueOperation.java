package org.regatta.bench.micro;

/** An operation whose result is a number. */
@FunctionalInterface
public interface ValueOperation {
    /** @param i counts the operations of an interval, so that the input can vary; from 0 */
    long run(long i) throws Exception;
}
