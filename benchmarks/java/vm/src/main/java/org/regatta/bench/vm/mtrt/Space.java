package org.regatta.bench.vm.mtrt;

import java.util.List;

/** A set of shapes that finds the one hit by a ray. */
interface Space {
    /**
     * @param known nearest hit so far; null: none
     * @return the nearest of all
     */
    Hit nearest(Ray ray, Hit known);

    /** Tests every shape; slow, but the reference for the tree. */
    static Space ofAll(List<Shape> shapes) {
        return (ray, known) -> {
            Hit best = known;
            for (Shape shape : shapes) {
                best = Hit.nearer(best, shape, shape.distance(ray));
            }
            return best;
        };
    }
}
