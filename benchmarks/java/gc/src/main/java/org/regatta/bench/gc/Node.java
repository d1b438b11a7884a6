package org.regatta.bench.gc;

/** An object of a known size. {@link NodeClasses} creates its subclasses. */
public abstract class Node {
    Node next;

    protected Node() {}

    /** @return a new object of the same class */
    public abstract Node fresh();

    /** Set the additional references to the first of {@code targets}. */
    public abstract void link(Object[] targets);
}
