package org.regatta.bench.lucene;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.regatta.bench.inputs.GeneratedText;

/** A text with its metadata. */
final class Article {
    static final int SECTIONS = 20;

    /** Publication days of articles: 0 to this, exclusive. */
    static final int DAYS = 3650;

    private static final int LEAST_LENGTH = 300;
    private static final int MOST_LENGTH = 1700;
    private static final int TITLE_LENGTH = 40;

    private final int id;
    private final int section;
    private final int day;
    private final String body;

    private Article(int id, int section, int day, String body) {
        this.id = id;
        this.section = section;
        this.day = day;
        this.body = body;
    }

    /** @return articles numbered from 0 */
    static List<Article> make(Random random, int count) {
        int[] lengths = random.ints(count, LEAST_LENGTH, MOST_LENGTH + 1).toArray();
        int total = 0;
        for (int length : lengths) {
            total += length;
        }
        // In one call, because every call would create a new vocabulary.
        byte[] text = GeneratedText.bytes(random, total);
        List<Article> articles = new ArrayList<>(count);
        int from = 0;
        for (int id = 0; id < count; id++) {
            String body = new String(text, from, lengths[id], StandardCharsets.US_ASCII);
            articles.add(new Article(id, random.nextInt(SECTIONS), random.nextInt(DAYS), body));
            from += lengths[id];
        }
        return articles;
    }

    /** The same article, published again later. */
    Article revised(int laterBy, String addition) {
        return new Article(id, section, (day + laterBy) % DAYS, addition + body);
    }

    String id() {
        return Integer.toString(id);
    }

    String section() {
        return "section" + section;
    }

    int day() {
        return day;
    }

    String title() {
        return body.substring(0, TITLE_LENGTH);
    }

    String body() {
        return body;
    }
}
