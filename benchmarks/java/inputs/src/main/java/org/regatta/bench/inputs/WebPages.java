package org.regatta.bench.inputs;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Random;

/**
 * Pages of synthetic web sites in HTML: prose, pictures, and links of all forms between them. All pages can be reached
 * from page 0. Some pages have accented letters, some of them in ISO-8859-1; some links are broken.
 */
public final class WebPages {
    private static final int PROSE = 1 << 18;
    private static final int PAGES_PER_SITE = 32;
    private static final int FOLDERS = 8;
    private static final int LEAST_PARAGRAPHS = 6;
    private static final int MOST_PARAGRAPHS = 14;
    private static final int LEAST_PARAGRAPH = 250;
    private static final int MOST_PARAGRAPH = 750;
    /** Interval between pages with accented letters in ISO-8859-1; the page after each has them in UTF-8. */
    private static final int ACCENTS = 8;
    /** Interval between broken links. */
    private static final int DEAD_LINKS = 24;

    private final long seed;
    private final int count;
    private final String prose;

    /** @param count number of pages, each of some 5000 bytes */
    public WebPages(long seed, int count) {
        this.seed = seed;
        this.count = count;
        prose = new String(GeneratedText.bytes(new Random(seed), PROSE), StandardCharsets.US_ASCII);
    }

    public int count() {
        return count;
    }

    public String url(int page) {
        return "http://" + host(page) + path(page);
    }

    public Charset charset(int page) {
        return page % ACCENTS == 0 ? StandardCharsets.ISO_8859_1 : StandardCharsets.UTF_8;
    }

    /** @return the page in its charset, identical in every call */
    public byte[] bytes(int page) {
        // The odd factor gives each page a separate random sequence.
        Random random = new Random(seed + (page + 1) * 0x9E3779B97F4A7C15L);
        StringBuilder html = new StringBuilder("<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"")
                .append(charset(page).name()).append("\">\n<title>")
                .append(passage(random, page, 30)).append("</title>\n</head>\n<body>\n");
        int paragraphs = LEAST_PARAGRAPHS + random.nextInt(MOST_PARAGRAPHS - LEAST_PARAGRAPHS + 1);
        for (int i = 0; i < paragraphs; i++) {
            int length = LEAST_PARAGRAPH + random.nextInt(MOST_PARAGRAPH - LEAST_PARAGRAPH + 1);
            html.append(i % 4 == 0 ? "<h2>" + passage(random, page, 20) + "</h2>\n" : "").append("<p>");
            html.append(passage(random, page, length / 2)).append(' ');
            // The first two links form a tree of all pages.
            boolean ofTree = i < 2 && 2 * page + 1 + i < count;
            boolean dead = !ofTree && random.nextInt(DEAD_LINKS) == 0;
            link(random, page, ofTree ? 2 * page + 1 + i : random.nextInt(count), dead, html);
            html.append(" &amp; ").append(passage(random, page, length / 2)).append("</p>\n");
            if (random.nextInt(3) == 0) {
                html.append("<IMG SRC=\"/images/").append(random.nextInt(100)).append(".gif\" ALT=\"a picture\">\n");
            }
        }
        return html.append("<!-- end -->\n</body>\n</html>\n").toString().getBytes(charset(page));
    }

    private static String path(int page) {
        return "/" + (char) ('a' + page / PAGES_PER_SITE % FOLDERS) + "/page" + page + ".html";
    }

    private String host(int page) {
        int sites = 1 + count / PAGES_PER_SITE;
        return String.format(Locale.ROOT, "www.site%03d.example", page % sites);
    }

    private void link(Random random, int page, int target, boolean dead, StringBuilder html) {
        String url = dead ? "http://" + host(target) + "/gone/page" + target + ".html" : url(target);
        String site = "http://" + host(page);
        if (url.startsWith(site)) {
            url = url.substring(site.length());
            String folder = path(page).substring(0, 3);
            if (url.startsWith(folder)) {
                url = url.substring(folder.length());
            }
        }
        html.append("<a href=\"").append(url).append(random.nextInt(8) == 0 ? "#part2" : "").append("\">");
        html.append(passage(random, page, 12)).append("</a>");
    }

    private String passage(Random random, int page, int length) {
        int from = random.nextInt(PROSE - length);
        String passage = prose.substring(from, from + length);
        return page % ACCENTS < 2 ? passage.replace("lun", "l\u00fcn") : passage;
    }
}
