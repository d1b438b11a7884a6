package org.regatta.bench.fop;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.Date;
import java.util.Random;
import org.apache.fop.apps.FOUserAgent;
import org.apache.fop.apps.Fop;
import org.apache.fop.apps.FopFactory;
import org.apache.fop.apps.FopFactoryBuilder;
import org.apache.fop.configuration.DefaultConfigurationBuilder;
import org.apache.fop.events.Event;
import org.apache.fop.events.EventFormatter;
import org.apache.fop.events.model.EventSeverity;
import org.apache.xerces.parsers.SAXParser;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;
import org.xml.sax.InputSource;
import org.xml.sax.helpers.DefaultHandler;

/**
 * Lays out a report in XSL-FO and writes it as PDF, from memory to memory; the output is the objects of the PDF.
 *
 * <p>Streams in the PDF are not compressed, and no colour profile is embedded: zlib output and profile contents differ
 * between JVMs, and neither is the work of Java code.
 */
final class FopBenchmark implements Benchmark {
    static final int MAX_SIZE = 1000;

    private static final String CONFIGURATION = "<fop version='1.0'><renderers><renderer mime='application/pdf'>"
            + "<filterList><value>null</value></filterList><disable-srgb-colorspace>true</disable-srgb-colorspace>"
            + "</renderer></renderers></fop>";

    private byte[] document;
    private ByteArrayOutputStream pdf;
    private int pages;
    private int warnings;
    private String trouble;

    FopBenchmark() {
        // FOP takes colours and rectangles from java.awt; nothing is drawn on a screen.
        System.setProperty("java.awt.headless", "true");
    }

    /** Lay out a short report: the only method to find the parts of java.desktop and native code that FOP uses. */
    @Override
    public void probe() throws Exception {
        setup(1, 1);
        prepare(0);
        iterate(0);
    }

    @Override
    public void setup(int size, long seed) {
        document = Report.document(new Random(seed), size);
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        pdf = new ByteArrayOutputStream();
        warnings = 0;
        trouble = null;
    }

    @Override
    public long iterate(int iteration) throws Exception {
        FopFactory factory = new FopFactoryBuilder(new File(".").toURI())
                .setConfiguration(new DefaultConfigurationBuilder()
                        .build(new ByteArrayInputStream(CONFIGURATION.getBytes(StandardCharsets.UTF_8))))
                .build();
        // Use only the fonts in FOP: no search, and no cache file in the user's home.
        factory.getFontManager().disableFontCache();
        FOUserAgent agent = factory.newFOUserAgent();
        agent.setCreationDate(new Date(0));
        agent.getEventBroadcaster().addEventListener(this::note);
        Fop fop = factory.newFop("application/pdf", agent, pdf);
        SAXParser parser = new SAXParser();
        DefaultHandler handler = fop.getDefaultHandler();
        parser.setContentHandler(handler);
        parser.setErrorHandler(handler);
        parser.parse(new InputSource(new ByteArrayInputStream(document)));
        pages = fop.getResults().getPageCount();
        return pdf.size();
    }

    @Override
    public void digest(OutputDigest out) throws WrongResultException {
        if (trouble != null) {
            throw new WrongResultException("the layout of the report is wrong: " + trouble);
        }
        PdfObjects.digest(pdf.toByteArray(), pages, out);
        out.put(warnings);
    }

    /** Counts overflows, such as a long word in a narrow cell, and keeps the first error. */
    private void note(Event event) {
        if (event.getSeverity() == EventSeverity.WARN) {
            warnings++;
        } else if (trouble == null && event.getSeverity() != EventSeverity.INFO) {
            trouble = EventFormatter.format(event);
        }
    }
}
