package org.regatta.bench.vm.mtrt;

/** The optical properties of a surface. */
final class Material {
    private final Vec colour;
    private final Vec otherColour;
    private final double mirror;

    /**
     * @param colour each component from 0 to 1
     * @param otherColour of every second field of a chequered surface; the same for a plain one
     * @param mirror share of specularly reflected light, from 0 to 1
     */
    Material(Vec colour, Vec otherColour, double mirror) {
        this.colour = colour;
        this.otherColour = otherColour;
        this.mirror = mirror;
    }

    double mirror() {
        return mirror;
    }

    Vec colourAt(Vec point) {
        long field = (long) Math.floor(point.x) + (long) Math.floor(point.z);
        return (field & 1) == 0 ? colour : otherColour;
    }
}
