package org.regatta.bench.pages;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;
import org.regatta.bench.inputs.WebPages;

/**
 * Scans web pages like WebL (the text scanner of Zhang's thesis, chapter 4): reads files character by character, splits
 * them into tags, words and links, counts, sorts, and writes a report. One thread.
 *
 * <p>The files are in the page cache, because the disk is not measured. The output is the report.
 */
final class ScannerBenchmark implements Benchmark {
    static final int MAX_SIZE = 2_000;
    private static final int PAGES_PER_SIZE = 50;

    private Folder folder;
    private int pages;

    @Override
    public void setup(int size, long seed) throws IOException {
        folder = new Folder();
        pages = size * PAGES_PER_SIZE;
        WebPages made = new WebPages(seed, pages);
        try (BufferedWriter list = Files.newBufferedWriter(list())) {
            for (int page = 0; page < pages; page++) {
                String name = "page" + page + ".html";
                Files.write(folder.file(name), made.bytes(page));
                list.write(name + " " + made.charset(page) + " " + made.url(page) + "\n");
            }
        }
    }

    @Override
    public void prepare(int iteration) throws IOException {
        Files.deleteIfExists(report());
    }

    @Override
    public long iterate(int iteration) throws IOException {
        PageScan scan = new PageScan();
        scan.scan(list().toFile());
        scan.report(report().toFile());
        return scan.size();
    }

    @Override
    public void digest(OutputDigest out) throws IOException, WrongResultException {
        String report = new String(Files.readAllBytes(report()), StandardCharsets.UTF_8);
        if (!report.contains("\n" + pages + "\t!doctype\n")) {
            throw new WrongResultException("the report does not count " + pages + " pages");
        }
        out.put(report);
    }

    @Override
    public void teardown() throws IOException {
        folder.delete();
    }

    private Path list() {
        return folder.file("list.txt");
    }

    private Path report() {
        return folder.file("report.txt");
    }
}
