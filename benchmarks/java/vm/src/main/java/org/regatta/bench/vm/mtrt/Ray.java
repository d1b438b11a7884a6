package org.regatta.bench.vm.mtrt;

/** A half line; {@code direction} has length 1. */
final class Ray {
    final Vec origin;
    final Vec direction;
    /** The reciprocal of each component of the direction; infinite for 0. */
    final Vec inverse;

    Ray(Vec origin, Vec direction) {
        this.origin = origin;
        this.direction = direction;
        inverse = new Vec(1 / direction.x, 1 / direction.y, 1 / direction.z);
    }

    Vec at(double distance) {
        return origin.plus(direction.times(distance));
    }
}
