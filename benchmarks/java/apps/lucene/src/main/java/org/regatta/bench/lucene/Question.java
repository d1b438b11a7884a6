package org.regatta.bench.lucene;

import java.util.List;
import java.util.Random;
import org.apache.lucene.document.LongPoint;
import org.apache.lucene.queryparser.classic.ParseException;
import org.apache.lucene.queryparser.classic.QueryParser;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.Query;

/** A query of a client: text in the query language, and the kind of result. */
final class Question {
    private static final int WINDOW_DAYS = 365;
    private static final int NO_DAY = -1;

    private final String text;
    private final int firstDay;
    private final boolean highlighted;

    private Question(String text, int firstDay, boolean highlighted) {
        this.text = text;
        this.firstDay = firstDay;
        this.highlighted = highlighted;
    }

    /** Draw a query on words of the articles, in proportion to their frequency. */
    static Question draw(Random random, List<Article> articles) {
        String[] words = articles.get(random.nextInt(articles.size())).body().split("[^a-z]+");
        String first = word(random, words);
        String second = word(random, words);
        int share = random.nextInt(100);
        if (share < 25) {
            return new Question(first, NO_DAY, false);
        }
        if (share < 45) {
            return new Question("+" + first + " " + second + " -" + word(random, words), NO_DAY, false);
        }
        if (share < 60) {
            return new Question(phrase(random, words), NO_DAY, false);
        }
        if (share < 70) {
            return new Question(first.substring(0, Math.min(3, first.length())) + "*", NO_DAY, false);
        }
        if (share < 80) {
            return new Question(first + "~1", NO_DAY, false);
        }
        if (share < 90) {
            return new Question(first + " " + second, random.nextInt(Article.DAYS - WINDOW_DAYS), false);
        }
        String section = " AND section:section" + random.nextInt(Article.SECTIONS);
        return new Question("(" + first + " OR " + second + ")" + section, NO_DAY, true);
    }

    /** @throws ParseException never, for a query drawn here */
    Query parse(QueryParser parser) throws ParseException {
        Query query = parser.parse(text);
        if (!isByDay()) {
            return query;
        }
        return new BooleanQuery.Builder()
                .add(query, BooleanClause.Occur.MUST)
                .add(LongPoint.newRangeQuery(ArticleIndex.DAY, firstDay, firstDay + WINDOW_DAYS), BooleanClause.Occur.FILTER)
                .build();
    }

    /** Whether it requests a range of days, latest first; otherwise best match first. */
    boolean isByDay() {
        return firstDay != NO_DAY;
    }

    /** Whether the result includes the matching passages. */
    boolean isHighlighted() {
        return highlighted;
    }

    private static String word(Random random, String[] words) {
        // The split between articles may leave a partial or empty word at either end.
        return words[1 + random.nextInt(words.length - 2)];
    }

    private static String phrase(Random random, String[] words) {
        int at = 1 + random.nextInt(words.length - 3);
        return "\"" + words[at] + " " + words[at + 1] + "\"" + (random.nextBoolean() ? "~2" : "");
    }
}
