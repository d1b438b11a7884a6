package org.regatta.bench.vm.mtrt;

import java.util.List;

/** Shapes that can be asked which of them a ray meets. */
interface Space {
    /**
     * @param known nearest hit so far; null: none
     * @return the nearest of all
     */
    Hit nearest(Ray ray, Hit known);

    /** Looks at every shape; slow, and right: what the tree is checked against. */
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
