package org.regatta.bench.vm.mtrt;

/** The first intersection of a ray. */
final class Hit {
    final Shape shape;
    final double distance;

    Hit(Shape shape, double distance) {
        this.shape = shape;
        this.distance = distance;
    }

    /** @return the nearer one; of two at the same distance, the shape with the lower number */
    static Hit nearer(Hit known, Shape shape, double distance) {
        if (distance == Shape.NEVER
                || known != null && distance > known.distance
                || known != null && distance == known.distance && shape.number() > known.shape.number()) {
            return known;
        }
        return new Hit(shape, distance);
    }
}
