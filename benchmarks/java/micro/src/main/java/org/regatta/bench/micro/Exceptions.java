package org.regatta.bench.micro;

final class Exceptions extends Group {
    private static final int[] DEPTHS = {1, 16, 128};

    @Override
    void addOperations() throws Exception {
        objects("exception_new", "depth", DEPTHS, depth -> i -> newAt(depth), depth -> i -> existingAt(depth));
        values("exception_throw", "depth", DEPTHS, depth -> {
            Exception made = new Exception("planted");
            return i -> {
                try {
                    return throwAt(depth, made);
                } catch (Exception caught) {
                    return i;
                }
            };
        }, depth -> i -> returnAt(depth));
        object("exception_stack_trace", i -> new Exception("planted").getStackTrace());
    }

    private static Exception newAt(int depth) {
        return depth <= 1 ? new Exception("planted") : newAt(depth - 1);
    }

    /** A baseline: the same depth without the exception. */
    private static Object existingAt(int depth) {
        return depth <= 1 ? "existing" : existingAt(depth - 1);
    }

    /** A baseline: the same depth, left by returns. */
    private static long returnAt(int depth) {
        return depth <= 1 ? 0 : returnAt(depth - 1) + 1;
    }

    /** Never returns; the sum keeps each call on the stack. */
    private static long throwAt(int depth, Exception thrown) throws Exception {
        if (depth <= 1) {
            throw thrown;
        }
        return throwAt(depth - 1, thrown) + 1;
    }
}
