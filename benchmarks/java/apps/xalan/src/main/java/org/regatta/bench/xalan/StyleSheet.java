package org.regatta.bench.xalan;

import java.io.IOException;
import java.io.InputStream;
import javax.xml.transform.Templates;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;

/** The style sheets applied to every document. */
enum StyleSheet {
    /** Grouping by two keys, sums, formatted numbers. */
    AUTHORS("authors.xsl"),
    /** Recursion through sections to HTML, numbering on several levels. */
    CONTENTS("contents.xsl"),
    /** Keys in both directions, chains of citations, sorting by numbers. */
    CITATIONS("citations.xsl"),
    /** Recursive string work to plain text. */
    WORDS("words.xsl"),
    /** A copy with changes: sorted, renamed, numbers formatted. */
    EDITION("edition.xsl");

    private final String resource;

    StyleSheet(String resource) {
        this.resource = resource;
    }

    /** @throws TransformerException if the style sheet is wrong; the listener of the factory reports it */
    Templates compile(TransformerFactory factory) throws IOException, TransformerException {
        try (InputStream text = StyleSheet.class.getResourceAsStream(resource)) {
            return factory.newTemplates(XalanBenchmark.source(text));
        }
    }
}
