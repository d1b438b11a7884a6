package org.regatta.bench.vm.mtrt;

/** A shape that a ray can hit. */
abstract class Shape {
    /** Minimum distance, so that rounding does not make a ray hit the surface where it starts. */
    static final double EPSILON = 1e-7;

    static final double NEVER = Double.POSITIVE_INFINITY;

    private final int number;
    private final Material material;

    /** @param number its index in the scene: of two shapes hit at the same distance, the lower one wins */
    Shape(int number, Material material) {
        this.number = number;
        this.material = material;
    }

    final int number() {
        return number;
    }

    final Material material() {
        return material;
    }

    /** @return distance to the first intersection, more than EPSILON; NEVER if there is none */
    abstract double distance(Ray ray);

    /** @return outward normal, of length 1 */
    abstract Vec normal(Vec point);

    /** Lowest corner of the bounding box. */
    abstract Vec low();

    /** Highest corner of the bounding box. */
    abstract Vec high();
}
