package org.regatta.bench.lucene;

import java.io.IOException;
import java.util.List;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.LongPoint;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LogDocMergePolicy;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.store.Directory;

/** Builds a deterministic index of articles. */
final class ArticleIndex {
    static final String ID = "id";
    static final String SECTION = "section";
    static final String DAY = "day";
    static final String TITLE = "title";
    static final String BODY = "body";

    /** Number of buffered articles per segment. */
    private static final int ARTICLES_A_SEGMENT = 100;

    /** Interval between articles that repeat an earlier one. */
    private static final int REVISED_EVERY = 16;

    private static final FieldType WITH_VECTORS = withVectors();

    private ArticleIndex() {}

    /**
     * Index articles in order. Segments are flushed and merged by article count, in this thread: by size or
     * concurrently, the index would depend on the heap and the scheduling.
     */
    static void write(Directory directory, Analyzer analyzer, List<Article> articles) throws IOException {
        IndexWriterConfig config = new IndexWriterConfig(analyzer)
                .setMaxBufferedDocs(ARTICLES_A_SEGMENT)
                .setRAMBufferSizeMB(IndexWriterConfig.DISABLE_AUTO_FLUSH)
                .setMergePolicy(new LogDocMergePolicy())
                .setMergeScheduler(new SerialMergeScheduler());
        try (IndexWriter writer = new IndexWriter(directory, config)) {
            for (int i = 0; i < articles.size(); i++) {
                writer.addDocument(document(articles.get(i)));
                if (i % REVISED_EVERY == REVISED_EVERY - 1) {
                    Article revised = articles.get(i / 2).revised(i, articles.get(i).title());
                    writer.updateDocument(new Term(ID, revised.id()), document(revised));
                }
            }
        }
    }

    private static Document document(Article article) {
        Document document = new Document();
        document.add(new StringField(ID, article.id(), Field.Store.YES));
        document.add(new StringField(SECTION, article.section(), Field.Store.YES));
        document.add(new LongPoint(DAY, article.day()));
        document.add(new NumericDocValuesField(DAY, article.day()));
        document.add(new StoredField(DAY, article.day()));
        document.add(new TextField(TITLE, article.title(), Field.Store.YES));
        document.add(new Field(BODY, article.body(), WITH_VECTORS));
        return document;
    }

    private static FieldType withVectors() {
        FieldType type = new FieldType(TextField.TYPE_STORED);
        type.setStoreTermVectors(true);
        type.setStoreTermVectorPositions(true);
        type.setStoreTermVectorOffsets(true);
        type.freeze();
        return type;
    }
}
