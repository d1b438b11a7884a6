package org.regatta.bench.xalan;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import javax.xml.transform.ErrorListener;
import javax.xml.transform.Templates;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.sax.SAXSource;
import javax.xml.transform.stream.StreamResult;
import org.apache.xalan.processor.TransformerFactoryImpl;
import org.apache.xalan.transformer.TransformerImpl;
import org.apache.xerces.parsers.SAXParser;
import org.apache.xml.dtm.DTM;
import org.apache.xpath.XPathContext;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;
import org.xml.sax.InputSource;

/**
 * Two threads transform XML documents with XSLT style sheets, from memory to memory; the output is all results in the
 * order of documents and style sheets.
 *
 * <p>Parser, processor and serializer are those of the jar (Xerces, Xalan's interpreter), named by class: a lookup with
 * {@code TransformerFactory.newInstance()} could return that of the JVM, which differs between JVMs.
 */
final class XalanBenchmark implements Benchmark {
    static final int MAX_SIZE = 10_000;

    /** Fixed, independent of the number of processors: the same work on all machines. */
    private static final int THREADS = 2;

    /** More than the depth of these transformations, each level of which pops one or two elements too many. */
    private static final int SPARE_ENTRIES = 200;

    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS, XalanBenchmark::daemon);
    private final List<byte[]> documents = new ArrayList<>();
    private byte[][] results;

    @Override
    public void setup(int size, long seed) {
        Random random = new Random(seed);
        for (int number = 1; number <= size; number++) {
            documents.add(Archive.document(random, number));
        }
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        results = new byte[documents.size() * StyleSheet.values().length][];
    }

    @Override
    public long iterate(int iteration) throws Exception {
        List<Templates> styles = compile();
        AtomicInteger next = new AtomicInteger();
        CompletionService<Long> ends = new ExecutorCompletionService<>(threads);
        for (int i = 0; i < THREADS; i++) {
            ends.submit(() -> work(styles, next));
        }
        long bytes = 0;
        for (int i = 0; i < THREADS; i++) {
            try {
                bytes += ends.take().get();
            } catch (ExecutionException e) {
                throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
            }
        }
        return bytes;
    }

    @Override
    public void digest(OutputDigest out) throws WrongResultException {
        for (int i = 0; i < results.length; i++) {
            if (results[i] == null || results[i].length == 0) {
                throw new WrongResultException("transformation " + i + " of " + results.length + " produced no output");
            }
            out.put(results[i], results[i].length);
        }
    }

    @Override
    public void teardown() {
        threads.shutdown();
    }

    static SAXSource source(InputStream xml) {
        return new SAXSource(new SAXParser(), new InputSource(xml));
    }

    /** Done in every iteration: parsing style sheets is part of the workload. */
    private static List<Templates> compile() throws IOException, TransformerException {
        TransformerFactory factory = new TransformerFactoryImpl();
        factory.setErrorListener(new Strict());
        List<Templates> styles = new ArrayList<>();
        for (StyleSheet style : StyleSheet.values()) {
            styles.add(style.compile(factory));
        }
        return styles;
    }

    /** Transform the remaining documents; compiled style sheets are shared, transformers are not. */
    private long work(List<Templates> styles, AtomicInteger next) throws TransformerException {
        long bytes = 0;
        for (int i = next.getAndIncrement(); i < results.length; i = next.getAndIncrement()) {
            Transformer transformer = transformer(styles.get(i % styles.size()));
            ByteArrayOutputStream result = new ByteArrayOutputStream();
            byte[] document = documents.get(i / styles.size());
            transformer.transform(source(new ByteArrayInputStream(document)), new StreamResult(result));
            results[i] = result.toByteArray();
            bytes += results[i].length;
        }
        return bytes;
    }

    /**
     * Create a transformer with spare stack elements. If the heap is exhausted, Xalan's finally blocks pop elements
     * that were never pushed; at the bottom, an exception about the stack index would hide the error.
     */
    private static Transformer transformer(Templates style) throws TransformerException {
        TransformerImpl transformer = (TransformerImpl) style.newTransformer();
        transformer.setErrorListener(new Strict());
        XPathContext context = transformer.getXPathContext();
        for (int i = 0; i < SPARE_ENTRIES; i++) {
            context.getCurrentNodeStack().push(DTM.NULL);
            context.getCurrentExpressionNodeStack().push(DTM.NULL);
            context.pushNamespaceContextNull();
            context.pushSAXLocatorNull();
            transformer.pushElemTemplateElement(null);
            transformer.pushPairCurrentMatched(null, DTM.NULL);
            transformer.pushCurrentTemplateRuleIsNull(false);
            transformer.pushMode(null);
        }
        return transformer;
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "transformer");
        thread.setDaemon(true);
        return thread;
    }

    /** Aborts a transformation at its first problem; Xalan would print it and continue. */
    private static final class Strict implements ErrorListener {
        @Override
        public void warning(TransformerException trouble) throws TransformerException {
            throw trouble;
        }

        @Override
        public void error(TransformerException trouble) throws TransformerException {
            throw trouble;
        }

        @Override
        public void fatalError(TransformerException trouble) throws TransformerException {
            throw trouble;
        }
    }
}
