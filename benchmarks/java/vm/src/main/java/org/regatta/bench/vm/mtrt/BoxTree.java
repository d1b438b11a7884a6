package org.regatta.bench.vm.mtrt;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** A tree of nested bounding boxes around shapes: a ray that misses a box misses its contents. */
final class BoxTree implements Space {
    private static final int SHAPES_IN_LEAF = 4;

    /** Wider than any rounding error: a ray that hits a shape never misses its box. */
    private static final Vec MARGIN = new Vec(1e-6, 1e-6, 1e-6);

    private final Vec low;
    private final Vec high;
    private final Shape[] shapes;
    private final BoxTree left;
    private final BoxTree right;

    /** @param all at least one */
    BoxTree(List<Shape> all) {
        Vec least = all.get(0).low();
        Vec most = all.get(0).high();
        for (Shape shape : all) {
            least = least.least(shape.low());
            most = most.most(shape.high());
        }
        low = least.minus(MARGIN);
        high = most.plus(MARGIN);
        if (all.size() <= SHAPES_IN_LEAF) {
            shapes = all.toArray(new Shape[0]);
            left = null;
            right = null;
            return;
        }
        shapes = null;
        int axis = longestAxis(high.minus(low));
        List<Shape> sorted = new ArrayList<>(all);
        sorted.sort(Comparator.comparingDouble((Shape shape) -> shape.low().along(axis) + shape.high().along(axis))
                .thenComparingInt(Shape::number));
        left = new BoxTree(sorted.subList(0, sorted.size() / 2));
        right = new BoxTree(sorted.subList(sorted.size() / 2, sorted.size()));
    }

    @Override
    public Hit nearest(Ray ray, Hit known) {
        if (misses(ray, known == null ? Shape.NEVER : known.distance)) {
            return known;
        }
        if (shapes == null) {
            return right.nearest(ray, left.nearest(ray, known));
        }
        Hit best = known;
        for (Shape shape : shapes) {
            best = Hit.nearer(best, shape, shape.distance(ray));
        }
        return best;
    }

    /** If a component of the direction is 0, a comparison may involve NaN; it is then false, and the box is entered. */
    private boolean misses(Ray ray, double farthest) {
        double enter = 0;
        double leave = farthest;
        for (int axis = 0; axis < 3; axis++) {
            double inverse = ray.inverse.along(axis);
            double one = (low.along(axis) - ray.origin.along(axis)) * inverse;
            double other = (high.along(axis) - ray.origin.along(axis)) * inverse;
            enter = Math.max(enter, Math.min(one, other));
            leave = Math.min(leave, Math.max(one, other));
        }
        return enter > leave;
    }

    private static int longestAxis(Vec extent) {
        if (extent.x >= extent.y && extent.x >= extent.z) {
            return 0;
        }
        return extent.y >= extent.z ? 1 : 2;
    }
}
