package org.regatta.bench.vm.mtrt;

/** Something that a ray can meet. */
abstract class Shape {
    /** Rays that start on a surface do not meet it again because of rounding. */
    static final double EPSILON = 1e-7;

    static final double NEVER = Double.POSITIVE_INFINITY;

    private final int number;
    private final Material material;

    /** @param number its place in the scene: of two shapes that are met at the same distance, the lower one counts */
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

    /** @return distance to where the ray meets it first, more than EPSILON; NEVER if it does not */
    abstract double distance(Ray ray);

    /** @return direction that leaves the surface, of length 1 */
    abstract Vec normal(Vec point);

    /** Lowest corner of a box around it. */
    abstract Vec low();

    /** Highest corner of a box around it. */
    abstract Vec high();
}
