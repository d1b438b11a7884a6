package org.regatta.bench.vm.mtrt;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** A rolling chequered landscape of triangles, spheres above it, and two lamps. */
final class Scene {
    private static final double WIDTH = 24;
    private static final double DEPTH = 32;

    private final List<Shape> shapes = new ArrayList<>();
    private final List<Vec> lamps = new ArrayList<>();

    /** @param fields number of fields along each side of the landscape; two triangles per field */
    Scene(Random random, int fields) {
        landscape(random, fields);
        for (int i = 0; i < fields; i++) {
            Vec colour = new Vec(shade(random), shade(random), shade(random));
            Vec centre = new Vec(
                    (random.nextDouble() - 0.5) * WIDTH * 0.8,
                    1 + random.nextDouble() * 6,
                    3 + random.nextDouble() * (DEPTH - 6));
            Material material = new Material(colour, colour, random.nextInt(3) == 0 ? 0.6 : 0.1);
            shapes.add(new Sphere(shapes.size(), material, centre, 0.3 + random.nextDouble()));
        }
        lamps.add(new Vec(-10 + random.nextDouble(), 14, -4));
        lamps.add(new Vec(8, 18 + random.nextDouble(), 10));
    }

    List<Shape> shapes() {
        return shapes;
    }

    List<Vec> lamps() {
        return lamps;
    }

    private void landscape(Random random, int fields) {
        Vec[][] corners = new Vec[fields + 1][fields + 1];
        for (int i = 0; i <= fields; i++) {
            for (int j = 0; j <= fields; j++) {
                corners[i][j] = new Vec(
                        (i / (double) fields - 0.5) * WIDTH, random.nextDouble() * 0.6, j / (double) fields * DEPTH);
            }
        }
        Material ground = new Material(new Vec(0.9, 0.9, 0.85), new Vec(0.2, 0.3, 0.25), 0.15);
        for (int i = 0; i < fields; i++) {
            for (int j = 0; j < fields; j++) {
                Vec near = corners[i + 1][j];
                Vec far = corners[i][j + 1];
                shapes.add(new Triangle(shapes.size(), ground, corners[i][j], far, near));
                shapes.add(new Triangle(shapes.size(), ground, corners[i + 1][j + 1], near, far));
            }
        }
    }

    private static double shade(Random random) {
        return 0.3 + 0.7 * random.nextDouble();
    }
}
