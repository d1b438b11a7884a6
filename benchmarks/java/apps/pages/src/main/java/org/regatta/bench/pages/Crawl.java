package org.regatta.bench.pages;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;

/** One crawl: fetches all pages reachable from a first one, and stores them in one file per host. */
final class Crawl implements PageParser.Handler, AutoCloseable {
    private static final String LINK = "href=\"";

    private final Frontier frontier = new Frontier();
    private final Response response = new Response();
    private final PageParser parser = new PageParser();
    private final Map<String, Store> stores = new HashMap<>();
    private final Map<String, Integer> tags = new HashMap<>();
    private final List<Document> documents = new ArrayList<>();
    private final Folder folder;
    private String url;
    private int links;
    private int missing;

    /** A stored page. */
    static final class Document {
        final String url;
        final String file;
        /** in the file */
        final long position;
        final int length;
        final long checksum;
        /** links of the page, including links to known pages */
        final int links;

        Document(String url, String file, long position, int length, long checksum, int links) {
            this.url = url;
            this.file = file;
            this.position = position;
            this.length = length;
            this.checksum = checksum;
            this.links = links;
        }
    }

    /** A file of pages. */
    private static final class Store {
        final String file;
        final OutputStream out;
        long length;

        Store(String file, OutputStream out) {
            this.file = file;
            this.out = out;
        }
    }

    Crawl(Folder folder) throws NoSuchAlgorithmException {
        this.folder = folder;
    }

    /** Crawl through a proxy until the frontier is empty. */
    void run(InetAddress address, int port, String first) throws IOException {
        frontier.add(first);
        for (url = frontier.next(); url != null; url = frontier.next()) {
            response.fetch(address, port, url);
            if (response.isPage()) {
                links = 0;
                parser.parse(response.reader(), this);
                store();
            } else {
                missing++;
            }
        }
    }

    @Override
    public void tag(String tag) {
        int space = tag.indexOf(' ');
        String name = (space < 0 ? tag : tag.substring(0, space)).toLowerCase();
        Integer count = tags.get(name);
        tags.put(name, count == null ? 1 : count + 1);
        if (name.equals("a")) {
            int start = tag.indexOf(LINK);
            if (start >= 0) {
                String rest = tag.substring(start + LINK.length());
                frontier.add(Url.resolve(url, rest.substring(0, rest.indexOf('"'))));
                links++;
            }
        }
    }

    @Override
    public void text(String text) {
        // Only links to other pages matter here.
    }

    @Override
    public void close() throws IOException {
        for (Store store : stores.values()) {
            store.out.close();
        }
    }

    List<Document> documents() {
        return documents;
    }

    Map<String, Integer> tags() {
        return tags;
    }

    int missing() {
        return missing;
    }

    private void store() throws IOException {
        String host = Url.host(url);
        Store store = stores.get(host);
        if (store == null) {
            store = new Store(host, new FileOutputStream(folder.file(host).toFile()));
            stores.put(host, store);
        }
        CRC32 checksum = new CRC32();
        checksum.update(response.bytes(), response.bodyStart(), response.bodyLength());
        byte[] head = url.concat("\n").getBytes(StandardCharsets.UTF_8);
        store.out.write(head);
        store.out.write(response.bytes(), response.bodyStart(), response.bodyLength());
        long position = store.length + head.length;
        store.length = position + response.bodyLength();
        documents.add(
                new Document(url, store.file, position, response.bodyLength(), checksum.getValue(), links));
    }
}
