package org.regatta.bench.batik;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.batik.transcoder.ErrorHandler;
import org.apache.batik.transcoder.TranscoderException;
import org.apache.batik.transcoder.TranscoderInput;
import org.apache.batik.transcoder.TranscoderOutput;
import org.apache.batik.transcoder.XMLAbstractTranscoder;
import org.apache.batik.transcoder.image.ImageTranscoder;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;

/**
 * Renders SVG pictures to bitmaps, one after the other; the output is all their pixels.
 *
 * <p>The last step is the JVM's own Java2D: its path renderer is Java code, the pixel loops are native.
 */
final class BatikBenchmark implements Benchmark {
    static final int MAX_SIZE = 1000;

    private final List<byte[]> pictures = new ArrayList<>();
    private List<BufferedImage> images;

    BatikBenchmark() {
        System.setProperty("java.awt.headless", "true");
    }

    /** Render one picture: the only method to find missing parts of java.desktop and its native code. */
    @Override
    public void probe() throws Exception {
        setup(1, 1);
        prepare(0);
        iterate(0);
    }

    @Override
    public void setup(int size, long seed) {
        Random random = new Random(seed);
        for (int i = 0; i < size; i++) {
            pictures.add(Picture.document(random));
        }
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        images = new ArrayList<>();
    }

    @Override
    public long iterate(int iteration) throws TranscoderException {
        for (byte[] picture : pictures) {
            Renderer renderer = new Renderer();
            renderer.transcode(new TranscoderInput(new ByteArrayInputStream(picture)), new TranscoderOutput());
            images.add(renderer.image);
        }
        return images.get(images.size() - 1).getRGB(Picture.SIDE / 2, Picture.SIDE / 2);
    }

    @Override
    public void digest(OutputDigest out) throws WrongResultException {
        for (BufferedImage image : images) {
            if (image == null || image.getWidth() != Picture.SIDE || image.getHeight() != Picture.SIDE) {
                throw new WrongResultException("a picture was not rendered, or has the wrong size");
            }
            for (int pixel : image.getRGB(0, 0, Picture.SIDE, Picture.SIDE, null, 0, Picture.SIDE)) {
                out.put(pixel);
            }
        }
    }

    /** Keeps the bitmap instead of writing it to a file; fails at the first problem. */
    private static final class Renderer extends ImageTranscoder implements ErrorHandler {
        private BufferedImage image;

        Renderer() {
            setErrorHandler(this);
            // Named explicitly, so that the parser is the same program on every JVM.
            addTranscodingHint(
                    XMLAbstractTranscoder.KEY_XML_PARSER_CLASSNAME, "org.apache.xerces.parsers.SAXParser");
        }

        @Override
        public BufferedImage createImage(int width, int height) {
            return new BufferedImage(width, height, BufferedImage.TYPE_INT_ARGB);
        }

        @Override
        public void writeImage(BufferedImage rendered, TranscoderOutput output) {
            image = rendered;
        }

        @Override
        public void error(TranscoderException trouble) throws TranscoderException {
            throw trouble;
        }

        @Override
        public void fatalError(TranscoderException trouble) throws TranscoderException {
            throw trouble;
        }

        @Override
        public void warning(TranscoderException trouble) throws TranscoderException {
            throw trouble;
        }
    }
}
