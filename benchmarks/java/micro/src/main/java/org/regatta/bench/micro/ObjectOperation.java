package org.regatta.bench.micro;

/** An operation whose result is an object. */
@FunctionalInterface
public interface ObjectOperation {
    /** @param i counts the operations of an interval, so that the input can vary; from 0 */
    Object run(long i) throws Exception;
}
