package org.regatta.bench.vm.mtrt;

final class Sphere extends Shape {
    private final Vec centre;
    private final double radius;

    Sphere(int number, Material material, Vec centre, double radius) {
        super(number, material);
        this.centre = centre;
        this.radius = radius;
    }

    @Override
    double distance(Ray ray) {
        Vec toCentre = centre.minus(ray.origin);
        double middle = toCentre.dot(ray.direction);
        double halfChordSquared = radius * radius - toCentre.dot(toCentre) + middle * middle;
        if (halfChordSquared < 0) {
            return NEVER;
        }
        double halfChord = Math.sqrt(halfChordSquared);
        if (middle - halfChord > EPSILON) {
            return middle - halfChord;
        }
        return middle + halfChord > EPSILON ? middle + halfChord : NEVER;
    }

    @Override
    Vec normal(Vec point) {
        return point.minus(centre).times(1 / radius);
    }

    @Override
    Vec low() {
        return centre.minus(new Vec(radius, radius, radius));
    }

    @Override
    Vec high() {
        return centre.plus(new Vec(radius, radius, radius));
    }
}
