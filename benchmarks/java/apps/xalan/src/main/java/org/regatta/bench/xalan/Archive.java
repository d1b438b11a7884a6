package org.regatta.bench.xalan;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.regatta.bench.inputs.GeneratedText;

/**
 * Writes an archive of articles in XML: authors, nested sections, articles with paragraphs that cite each other.
 * Amounts are integers (prices in cents), so that rounding does not depend on the JVM.
 */
final class Archive {
    private static final int AUTHORS = 12;
    private static final int SECTIONS = 3;
    private static final int DEPTH = 3;
    private static final int MOST_CITATIONS = 3;
    private static final int TEXT_BYTES = 48 * 1024;
    private static final String[] KINDS = {"essay", "letter", "review", "report"};

    private final Random random;
    private final StringBuilder xml = new StringBuilder();
    private final String[] words;
    private int nextWord;
    private int articles;

    private Archive(Random random) {
        this.random = random;
        String text = new String(GeneratedText.bytes(random, TEXT_BYTES), StandardCharsets.US_ASCII);
        words = text.replace('.', ' ').trim().split("\\s+");
    }

    /**
     * @param number the number of the archive, from 1
     * @return a document of about 50 KiB in UTF-8
     */
    static byte[] document(Random random, int number) {
        return new Archive(random).write(number).getBytes(StandardCharsets.UTF_8);
    }

    private String write(int number) {
        xml.append("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<archive number=\"").append(number).append("\">\n");
        for (int author = 0; author < AUTHORS; author++) {
            xml.append("  <author id=\"a").append(author).append("\" born=\"").append(1900 + random.nextInt(80));
            xml.append("\">").append(text(2)).append("</author>\n");
        }
        for (int section = 0; section < SECTIONS; section++) {
            section(1);
        }
        return xml.append("</archive>\n").toString();
    }

    private void section(int depth) {
        xml.append("<section>\n  <title>").append(text(3)).append("</title>\n");
        for (int article = 2 + random.nextInt(3); article > 0; article--) {
            article();
        }
        if (depth < DEPTH) {
            section(depth + 1);
            section(depth + 1);
        }
        xml.append("</section>\n");
    }

    private void article() {
        xml.append("  <article id=\"r").append(articles);
        xml.append("\" author=\"a").append(random.nextInt(AUTHORS));
        xml.append("\" year=\"").append(1980 + random.nextInt(10));
        xml.append("\" kind=\"").append(KINDS[random.nextInt(KINDS.length)]);
        xml.append("\" pages=\"").append(1 + random.nextInt(40));
        xml.append("\" cents=\"").append(50 + random.nextInt(20_000)).append("\">\n");
        xml.append("    <title>").append(text(2 + random.nextInt(5))).append("</title>\n");
        for (int paragraph = 1 + random.nextInt(3); paragraph > 0; paragraph--) {
            xml.append("    <para>").append(text(8 + random.nextInt(24)));
            xml.append(" <em>").append(text(2)).append("</em> &amp; \u00e9\u00df\u20ac ");
            xml.append(text(4 + random.nextInt(16))).append("</para>\n");
        }
        // Cite only earlier articles: chains of citations end.
        for (int citation = random.nextInt(MOST_CITATIONS + 1); citation > 0 && articles > 0; citation--) {
            xml.append("    <cites ref=\"r").append(random.nextInt(articles)).append("\"/>\n");
        }
        xml.append("  </article>\n");
        articles++;
    }

    /** @return the next {@code count} words; the first one follows the last one */
    private String text(int count) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append(i == 0 ? "" : " ").append(words[nextWord]);
            nextWord = (nextWord + 1) % words.length;
        }
        return text.toString();
    }
}
