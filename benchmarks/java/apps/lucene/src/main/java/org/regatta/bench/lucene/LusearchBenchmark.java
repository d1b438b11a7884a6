package org.regatta.bench.lucene;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.queryparser.classic.QueryParser;
import org.apache.lucene.search.FieldDoc;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.uhighlight.CustomSeparatorBreakIterator;
import org.apache.lucene.search.uhighlight.UnifiedHighlighter;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.regatta.bench.Benchmark;
import org.regatta.bench.Clients;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.Requests;
import org.regatta.bench.WrongResultException;

/**
 * Clients search an index of generated articles: single words, combinations, phrases, prefixes, misspellings, time
 * windows and highlighted passages. The output is every result: the number of matching articles, and the first of them.
 */
final class LusearchBenchmark implements Benchmark {
    static final int MAX_SIZE = 10_000;
    private static final int QUESTIONS_PER_SIZE = 100;
    private static final int CLIENTS = 2;
    private static final int ARTICLES = 1000;
    private static final int MOST_HITS = 10;
    private static final int MOST_PASSAGES = 2;
    private static final Sort LATEST_FIRST =
            new Sort(new SortField(ArticleIndex.DAY, SortField.Type.LONG, true), SortField.FIELD_DOC);

    /** Scores are rounded to these units, because the last bit of a logarithm may differ between JVMs. */
    private static final float SCORE_PARTS = 1000;

    private final Analyzer analyzer = new EnglishAnalyzer();
    private final List<Question[]> questions = new ArrayList<>();
    private final List<Answers> answers = new ArrayList<>();
    private ByteBuffersDirectory directory;
    private DirectoryReader reader;
    private IndexSearcher searcher;
    private Clients clients;

    @Override
    public void setup(int size, long seed) throws IOException {
        List<Article> articles = Article.make(new Random(seed), ARTICLES);
        directory = new ByteBuffersDirectory();
        ArticleIndex.write(directory, analyzer, articles);
        reader = DirectoryReader.open(directory);
        searcher = new IndexSearcher(reader);
        // Its contents depend on the heap and on earlier queries: iterations would not do the same work.
        searcher.setQueryCache(null);
        int questionsPerClient = size * QUESTIONS_PER_SIZE / CLIENTS;
        clients = new Clients(CLIENTS, questionsPerClient);
        for (int client = 0; client < CLIENTS; client++) {
            // The odd factor separates the random streams of the clients from each other and from that of the articles.
            Random random = new Random(seed + (client + 1) * 0x9E3779B97F4A7C15L);
            Question[] drawn = new Question[questionsPerClient];
            for (int i = 0; i < drawn.length; i++) {
                drawn[i] = Question.draw(random, articles);
            }
            questions.add(drawn);
            answers.add(new Answers(questionsPerClient));
        }
    }

    @Override
    public void prepare(int iteration) {
        clients.clear();
        answers.forEach(Answers::clear);
    }

    @Override
    public long iterate(int iteration) throws Exception {
        return clients.run(this::search);
    }

    @Override
    public List<Requests> requests() {
        return clients.logs();
    }

    @Override
    public void digest(OutputDigest out) throws WrongResultException {
        for (int client = 0; client < CLIENTS; client++) {
            // The first value of each result is a count; more follow only if there are hits.
            if (answers.get(client).count <= questions.get(client).length) {
                throw new WrongResultException("no query of client " + client + " found an article");
            }
            answers.get(client).digest(out);
        }
    }

    @Override
    public void teardown() throws IOException {
        clients.close();
        reader.close();
        directory.close();
        analyzer.close();
    }

    private long search(int client, Requests log) throws Exception {
        QueryParser parser = new QueryParser(ArticleIndex.BODY, analyzer);
        // Passages end at full stops; the default, the sentence breaks of the class library, changes between releases.
        UnifiedHighlighter highlighter = UnifiedHighlighter.builder(searcher, analyzer)
                .withBreakIterator(() -> new CustomSeparatorBreakIterator('.'))
                .build();
        Answers given = answers.get(client);
        long titles = 0;
        for (Question question : questions.get(client)) {
            long beganNs = System.nanoTime();
            titles += answer(question, parser, highlighter, given);
            log.ended(beganNs);
        }
        return titles;
    }

    private long answer(Question question, QueryParser parser, UnifiedHighlighter highlighter, Answers given)
            throws Exception {
        Query query = question.parse(parser);
        TopDocs found = question.isByDay()
                ? searcher.search(query, MOST_HITS, LATEST_FIRST)
                : searcher.search(query, MOST_HITS);
        given.add(found.totalHits.value);
        long titles = 0;
        for (ScoreDoc hit : found.scoreDocs) {
            given.add(hit.doc);
            given.add(rank(hit));
            titles += reader.storedFields().document(hit.doc).get(ArticleIndex.TITLE).length();
        }
        if (question.isHighlighted() && found.scoreDocs.length > 0) {
            for (String passage : highlighter.highlight(ArticleIndex.BODY, query, found, MOST_PASSAGES)) {
                given.add(passage == null ? 0 : passage.hashCode());
            }
        }
        return titles;
    }

    /** The sort criterion of the hits. */
    private static long rank(ScoreDoc hit) {
        return hit instanceof FieldDoc ? (Long) ((FieldDoc) hit).fields[0] : Math.round(hit.score * SCORE_PARTS);
    }

    /** The results of a client's queries in order, in preallocated memory. */
    private static final class Answers {
        /** Of one result: the count, and for each hit its number, its rank and its passages. */
        private static final int MOST_VALUES = 1 + 3 * MOST_HITS;

        private final long[] values;
        private int count;

        Answers(int most) {
            values = new long[most * MOST_VALUES];
        }

        void clear() {
            count = 0;
        }

        void add(long value) {
            values[count++] = value;
        }

        void digest(OutputDigest out) {
            out.put(count);
            for (int i = 0; i < count; i++) {
                out.put(values[i]);
            }
        }
    }
}
