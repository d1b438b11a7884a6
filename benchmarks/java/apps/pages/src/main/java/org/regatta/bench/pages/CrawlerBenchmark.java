package org.regatta.bench.pages;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;
import org.regatta.bench.inputs.WebPages;

/**
 * Crawls generated web sites like Mercator (Zhang's thesis, chapter 4): one connection per page, a frontier with one
 * queue per host, a set of seen URLs, and pages stored in files. The proxy that simulates the web is a thread of the
 * application, so that both ends of a connection run on the JVM under test. Nearly always, one thread waits for the
 * other.
 *
 * <p>The output is all stored pages in URL order, so that the order of fetching does not matter.
 */
final class CrawlerBenchmark implements Benchmark {
    static final int MAX_SIZE = 2_000;
    private static final int PAGES_PER_SIZE = 50;

    private Folder folder;
    private Proxy proxy;
    private WebPages made;
    private Crawl crawl;

    @Override
    public void setup(int size, long seed) throws IOException {
        folder = new Folder();
        made = new WebPages(seed, size * PAGES_PER_SIZE);
        proxy = new Proxy(made);
    }

    @Override
    public void prepare(int iteration) throws IOException {
        crawl = null;
        folder.empty();
    }

    @Override
    public long iterate(int iteration) throws Exception {
        try (Crawl started = new Crawl(folder)) {
            crawl = started;
            crawl.run(proxy.address(), proxy.port(), made.url(0));
        }
        return crawl.documents().size();
    }

    @Override
    public void digest(OutputDigest out) throws IOException, WrongResultException {
        Map<String, Crawl.Document> byUrl = new TreeMap<>();
        crawl.documents().forEach(document -> byUrl.put(document.url, document));
        if (byUrl.size() != made.count() || crawl.documents().size() != made.count()) {
            throw new WrongResultException(
                    crawl.documents().size() + " pages are stored, expected " + made.count());
        }
        for (Crawl.Document document : byUrl.values()) {
            byte[] stored = new byte[document.length];
            try (RandomAccessFile file = new RandomAccessFile(folder.file(document.file).toFile(), "r")) {
                file.seek(document.position);
                file.readFully(stored);
            }
            CRC32 checksum = new CRC32();
            checksum.update(stored, 0, stored.length);
            if (checksum.getValue() != document.checksum) {
                throw new WrongResultException("the stored page of " + document.url + " differs from the fetched page");
            }
            out.put(document.url).put(document.links).put(stored, stored.length);
        }
        new TreeMap<>(crawl.tags()).forEach((tag, count) -> out.put(tag).put(count));
        out.put(crawl.missing());
    }

    @Override
    public void teardown() throws Exception {
        proxy.close();
        folder.delete();
    }
}
