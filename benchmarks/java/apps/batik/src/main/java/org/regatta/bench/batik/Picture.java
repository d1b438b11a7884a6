package org.regatta.bench.batik;

import java.nio.charset.StandardCharsets;
import java.util.Random;

/**
 * Writes a picture in SVG: polygons and rectangles, linear gradients, groups with transforms and opacity, a style
 * sheet.
 *
 * <p>Restricted to features that every JVM from 11 to 25 renders to the same pixels. Transformed curves, strokes and
 * radial gradients differ by some bits between 17 and 21, whose path renderers differ; text glyphs depend on the
 * machine. Transforms are decimal matrices, because sines of angles may differ in the last bit.
 */
final class Picture {
    static final int SIDE = 480;
    private static final int GROUPS = 12;
    private static final int SHAPES = 10;
    private static final int GRADIENTS = 6;

    private final Random random;
    private final StringBuilder svg = new StringBuilder();

    private Picture(Random random) {
        this.random = random;
    }

    /** @return a picture of {@value #SIDE} by {@value #SIDE} pixels, in UTF-8 */
    static byte[] document(Random random) {
        return new Picture(random).write().getBytes(StandardCharsets.UTF_8);
    }

    private String write() {
        svg.append("<?xml version='1.0' encoding='UTF-8'?>\n<svg xmlns='http://www.w3.org/2000/svg' ");
        svg.append("xmlns:xlink='http://www.w3.org/1999/xlink' width='").append(SIDE).append("' height='");
        svg.append(SIDE).append("'>\n<style type='text/css'>g > .faint { opacity: 0.5 }</style>\n");
        svg.append("<defs>\n");
        for (int i = 0; i < GRADIENTS; i++) {
            gradient(i);
        }
        svg.append("</defs>\n");
        svg.append("<rect width='").append(SIDE).append("' height='").append(SIDE).append("' fill='#f4f0e8'/>\n");
        for (int i = 0; i < GROUPS; i++) {
            group();
        }
        return svg.append("</svg>\n").toString();
    }

    private void gradient(int number) {
        svg.append("<linearGradient id='g").append(number).append("'>");
        for (int stop = 0; stop <= 4; stop++) {
            svg.append("<stop offset='").append(stop * 25).append("%' stop-color='").append(colour());
            svg.append("' stop-opacity='0.").append(5 + random.nextInt(5)).append("'/>");
        }
        svg.append("</linearGradient>\n");
    }

    private void group() {
        svg.append("<g opacity='0.").append(5 + random.nextInt(5)).append('\'');
        svg.append(" transform='matrix(0.").append(6 + random.nextInt(4)).append(" 0.").append(random.nextInt(4));
        svg.append(" -0.").append(random.nextInt(4)).append(" 0.").append(6 + random.nextInt(4));
        svg.append(' ').append(random.nextInt(120)).append(' ').append(random.nextInt(80)).append(")'>\n");
        for (int shape = 0; shape < SHAPES; shape++) {
            if (random.nextInt(3) == 0) {
                rectangle();
            } else {
                polygon();
            }
        }
        svg.append("</g>\n");
    }

    private void rectangle() {
        svg.append("<rect x='").append(place()).append("' y='").append(place()).append("' width='");
        svg.append(20 + random.nextInt(160)).append("' height='").append(20 + random.nextInt(160));
        svg.append("' class='faint' fill='").append(paint()).append("'/>\n");
    }

    private void polygon() {
        svg.append("<path fill-rule='evenodd' fill='").append(paint()).append("' d='M").append(point());
        for (int corners = 3 + random.nextInt(12); corners > 0; corners--) {
            svg.append('L').append(point());
        }
        svg.append("Z'/>\n");
    }

    private String point() {
        return place() + "," + place();
    }

    private String place() {
        return random.nextInt(SIDE) + "." + random.nextInt(10);
    }

    private String paint() {
        return random.nextInt(3) == 0 ? colour() : "url(#g" + random.nextInt(GRADIENTS) + ")";
    }

    private String colour() {
        return "rgb(" + random.nextInt(256) + "," + random.nextInt(256) + "," + random.nextInt(256) + ")";
    }
}
