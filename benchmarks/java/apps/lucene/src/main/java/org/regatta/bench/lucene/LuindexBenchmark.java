package org.regatta.bench.lucene;

import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.FieldInfos;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.IndexableField;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.MultiDocValues;
import org.apache.lucene.index.MultiTerms;
import org.apache.lucene.index.NumericDocValues;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.StoredFields;
import org.apache.lucene.index.TermVectors;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.search.DocIdSetIterator;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.util.BytesRef;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;

/**
 * Indexes generated articles in one thread: analysis, dictionary, postings, stored fields, term vectors, replaced
 * articles and merges. The index is in memory, because the disk is not measured.
 *
 * <p>The output is the data read back from the index; its files also contain random names and dates.
 */
final class LuindexBenchmark implements Benchmark {
    static final int MAX_SIZE = 10_000;
    private static final int ARTICLES_PER_SIZE = 100;

    private final Analyzer analyzer = new EnglishAnalyzer();
    private List<Article> articles;
    private ByteBuffersDirectory directory;

    @Override
    public void setup(int size, long seed) {
        articles = Article.make(new Random(seed), size * ARTICLES_PER_SIZE);
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        directory = new ByteBuffersDirectory();
    }

    @Override
    public long iterate(int iteration) throws IOException {
        ArticleIndex.write(directory, analyzer, articles);
        long bytes = 0;
        for (String file : directory.listAll()) {
            bytes += directory.fileLength(file);
        }
        return bytes;
    }

    @Override
    public void digest(OutputDigest out) throws IOException, WrongResultException {
        try (DirectoryReader reader = DirectoryReader.open(directory)) {
            if (reader.numDocs() != articles.size()) {
                throw new WrongResultException(
                        "the index holds " + reader.numDocs() + " articles, expected " + articles.size());
            }
            for (LeafReaderContext leaf : reader.leaves()) {
                out.put(leaf.reader().maxDoc()).put(leaf.reader().numDocs());
            }
            for (String field : new TreeSet<>(FieldInfos.getIndexedFields(reader))) {
                Terms terms = MultiTerms.getTerms(reader, field);
                if (terms != null) {
                    out.put(field);
                    digestTerms(terms, out);
                }
            }
            digestStored(reader, out);
            digestDays(reader, out);
        }
    }

    @Override
    public void teardown() {
        analyzer.close();
    }

    /** The dictionary of a field or of one article, and the frequency and positions of each term per article. */
    private static void digestTerms(Terms field, OutputDigest out) throws IOException {
        boolean positions = field.hasPositions();
        PostingsEnum postings = null;
        TermsEnum terms = field.iterator();
        for (BytesRef term = terms.next(); term != null; term = terms.next()) {
            out.put(term.utf8ToString()).put(terms.docFreq()).put(terms.totalTermFreq());
            postings = terms.postings(postings, PostingsEnum.ALL);
            while (postings.nextDoc() != DocIdSetIterator.NO_MORE_DOCS) {
                out.put(postings.docID()).put(postings.freq());
                for (int i = 0; positions && i < postings.freq(); i++) {
                    // -1 for offsets that the field does not have
                    out.put(postings.nextPosition()).put(postings.startOffset()).put(postings.endOffset());
                }
            }
        }
    }

    /** The stored fields and the term vector of the body of each article. */
    private static void digestStored(IndexReader reader, OutputDigest out) throws IOException, WrongResultException {
        StoredFields stored = reader.storedFields();
        TermVectors vectors = reader.termVectors();
        for (int i = 0; i < reader.maxDoc(); i++) {
            for (IndexableField field : stored.document(i)) {
                out.put(field.name());
                // text, or the digits of a number
                out.put(field.stringValue());
            }
            Terms vector = vectors.get(i, ArticleIndex.BODY);
            if (vector == null) {
                throw new WrongResultException("the index holds no term vector of article " + i);
            }
            digestTerms(vector, out);
        }
    }

    private static void digestDays(IndexReader reader, OutputDigest out) throws IOException, WrongResultException {
        NumericDocValues days = MultiDocValues.getNumericValues(reader, ArticleIndex.DAY);
        if (days == null) {
            throw new WrongResultException("the index holds no column of days");
        }
        while (days.nextDoc() != DocIdSetIterator.NO_MORE_DOCS) {
            out.put(days.docID()).put(days.longValue());
        }
    }
}
