package org.regatta.bench.vm.mtrt;

import java.util.List;

/** Backward ray tracing. Only + - * / and square roots: the same colours on every JVM. */
final class Tracer {
    private static final int MOST_REFLECTIONS = 4;
    private static final Vec EYE = new Vec(0, 5, -9);
    private static final Vec BLACK = new Vec(0, 0, 0);
    private static final Vec SKY = new Vec(0.35, 0.5, 0.8);
    private static final double AMBIENT = 0.15;
    private static final double LAMP = 0.6;

    /** The highlight is the cosine to the power 2^5. */
    private static final int HIGHLIGHT_SQUARINGS = 5;

    private final Space space;
    private final List<Vec> lamps;

    Tracer(Space space, List<Vec> lamps) {
        this.space = space;
        this.lamps = lamps;
    }

    /**
     * @param column from 0, left
     * @param line from 0, top
     * @return red, green and blue in the low 24 bits
     */
    int pixel(int column, int line, int width, int height) {
        double right = (column + 0.5) / width - 0.5;
        double up = (0.5 - (line + 0.5) / height) * height / width;
        Vec colour = colour(new Ray(EYE, new Vec(right, up - 0.12, 0.9).unit()), MOST_REFLECTIONS);
        return eightBits(colour.x) << 16 | eightBits(colour.y) << 8 | eightBits(colour.z);
    }

    private Vec colour(Ray ray, int reflectionsLeft) {
        Hit hit = space.nearest(ray, null);
        if (hit == null) {
            return SKY.times(0.5 + 0.5 * Math.max(0, ray.direction.y));
        }
        Vec point = ray.at(hit.distance);
        Vec normal = hit.shape.normal(point);
        if (normal.dot(ray.direction) > 0) {
            normal = normal.times(-1);
        }
        Vec mirrored = ray.direction.minus(normal.times(2 * normal.dot(ray.direction)));
        Material material = hit.shape.material();
        Vec own = material.colourAt(point).filteredBy(lightAt(point, normal));
        Vec colour = own.plus(highlightAt(point, mirrored)).times(1 - material.mirror());
        if (reflectionsLeft == 0) {
            return colour;
        }
        Vec reflected = colour(new Ray(point, mirrored.unit()), reflectionsLeft - 1);
        return colour.plus(reflected.times(material.mirror()));
    }

    private Vec lightAt(Vec point, Vec normal) {
        double light = AMBIENT;
        for (Vec lamp : lamps) {
            double cosine = normal.dot(lamp.minus(point).unit());
            if (cosine > 0 && sees(point, lamp)) {
                light += LAMP * cosine;
            }
        }
        return new Vec(light, light, light);
    }

    private Vec highlightAt(Vec point, Vec mirrored) {
        Vec sum = BLACK;
        for (Vec lamp : lamps) {
            double shine = Math.max(0, mirrored.dot(lamp.minus(point).unit()));
            for (int i = 0; i < HIGHLIGHT_SQUARINGS; i++) {
                shine *= shine;
            }
            sum = sum.plus(new Vec(shine, shine, shine).times(0.4));
        }
        return sum;
    }

    /** Whether a point is not in the shadow of a lamp. */
    private boolean sees(Vec point, Vec lamp) {
        Vec way = lamp.minus(point);
        Hit hit = space.nearest(new Ray(point, way.unit()), null);
        return hit == null || hit.distance > way.length();
    }

    private static int eightBits(double value) {
        return (int) (255 * Math.min(1, Math.max(0, value)) + 0.5);
    }
}
