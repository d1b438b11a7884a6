package org.regatta.bench.vm.mtrt;

/** A point, a direction or a colour. Every operation creates a new one: these are the benchmark's allocations. */
final class Vec {
    final double x;
    final double y;
    final double z;

    Vec(double x, double y, double z) {
        this.x = x;
        this.y = y;
        this.z = z;
    }

    Vec plus(Vec other) {
        return new Vec(x + other.x, y + other.y, z + other.z);
    }

    Vec minus(Vec other) {
        return new Vec(x - other.x, y - other.y, z - other.z);
    }

    Vec times(double factor) {
        return new Vec(x * factor, y * factor, z * factor);
    }

    /** Component-wise product, for light on a coloured surface. */
    Vec filteredBy(Vec colour) {
        return new Vec(x * colour.x, y * colour.y, z * colour.z);
    }

    double dot(Vec other) {
        return x * other.x + y * other.y + z * other.z;
    }

    Vec cross(Vec other) {
        return new Vec(y * other.z - z * other.y, z * other.x - x * other.z, x * other.y - y * other.x);
    }

    double length() {
        return Math.sqrt(dot(this));
    }

    Vec unit() {
        return times(1 / length());
    }

    /** @param axis 0, 1 or 2 */
    double along(int axis) {
        return axis == 0 ? x : axis == 1 ? y : z;
    }

    Vec least(Vec other) {
        return new Vec(Math.min(x, other.x), Math.min(y, other.y), Math.min(z, other.z));
    }

    Vec most(Vec other) {
        return new Vec(Math.max(x, other.x), Math.max(y, other.y), Math.max(z, other.z));
    }
}
