package org.regatta.bench.vm.mtrt;

/** Source: T. Moeller, B. Trumbore, Fast, Minimum Storage Ray/Triangle Intersection, J. Graphics Tools 2(1), 1997. */
final class Triangle extends Shape {
    private final Vec corner;
    private final Vec firstEdge;
    private final Vec secondEdge;

    Triangle(int number, Material material, Vec a, Vec b, Vec c) {
        super(number, material);
        corner = a;
        firstEdge = b.minus(a);
        secondEdge = c.minus(a);
    }

    @Override
    double distance(Ray ray) {
        Vec p = ray.direction.cross(secondEdge);
        double determinant = firstEdge.dot(p);
        if (determinant == 0) {
            return NEVER;
        }
        Vec fromCorner = ray.origin.minus(corner);
        double u = fromCorner.dot(p) / determinant;
        if (u < 0 || u > 1) {
            return NEVER;
        }
        Vec q = fromCorner.cross(firstEdge);
        double v = ray.direction.dot(q) / determinant;
        if (v < 0 || u + v > 1) {
            return NEVER;
        }
        double distance = secondEdge.dot(q) / determinant;
        return distance > EPSILON ? distance : NEVER;
    }

    @Override
    Vec normal(Vec point) {
        return firstEdge.cross(secondEdge).unit();
    }

    @Override
    Vec low() {
        return corner.least(corner.plus(firstEdge)).least(corner.plus(secondEdge));
    }

    @Override
    Vec high() {
        return corner.most(corner.plus(firstEdge)).most(corner.plus(secondEdge));
    }
}
