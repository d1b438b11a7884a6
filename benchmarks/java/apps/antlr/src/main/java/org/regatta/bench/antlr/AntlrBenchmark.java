package org.regatta.bench.antlr;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.antlr.v4.runtime.BailErrorStrategy;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CommonTokenStream;
import org.antlr.v4.runtime.LexerInterpreter;
import org.antlr.v4.runtime.ParserInterpreter;
import org.antlr.v4.runtime.tree.ParseTreeWalker;
import org.antlr.v4.tool.Grammar;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;

/**
 * Generates parsers from grammars with ANTLR's tool, some written by hand and some generated from the seed. Then
 * parses, with each generated parser, a text drawn from its grammar. The output is the files of the tool and the shape
 * of the parse trees.
 */
final class AntlrBenchmark implements Benchmark {
    static final int MAX_SIZE = 1000;
    private static final List<String> WRITTEN = List.of("Notation", "Query", "Script", "MarkupLexer");
    private static final int GRAMMARS_PER_SIZE = 1;
    private static final int TEXT_CHARACTERS = 12_000;

    private Map<String, String> written;
    private List<MadeGrammar> made;
    private List<String> texts;
    private Map<String, StringWriter> files;
    private List<TreeShape> shapes;

    @Override
    public void setup(int size, long seed) throws IOException {
        // ANTLR converts case with the locale of the JVM, and would write other names in Turkish.
        Locale.setDefault(Locale.ROOT);
        written = new TreeMap<>();
        for (String name : WRITTEN) {
            written.put(name, resource(name + ".g4"));
        }
        Random random = new Random(seed);
        made = new ArrayList<>();
        texts = new ArrayList<>();
        for (int i = 0; i < size * GRAMMARS_PER_SIZE; i++) {
            MadeGrammar grammar = new MadeGrammar(random, "Made" + i);
            made.add(grammar);
            texts.add(grammar.text(TEXT_CHARACTERS));
        }
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        files = new TreeMap<>();
        shapes = new ArrayList<>();
    }

    @Override
    public long iterate(int iteration) {
        written.forEach((name, text) -> new MemoryTool(files).make(name, text));
        for (int i = 0; i < made.size(); i++) {
            Grammar grammar = new MemoryTool(files).make(made.get(i).name(), made.get(i).grammar());
            shapes.add(parse(grammar, texts.get(i)));
        }
        long sum = 0;
        for (StringWriter file : files.values()) {
            sum += file.getBuffer().length();
        }
        for (TreeShape shape : shapes) {
            sum += shape.tokens();
        }
        return sum;
    }

    @Override
    public void digest(OutputDigest out) {
        files.forEach((name, text) -> out.put(name).put(text.toString()));
        shapes.forEach(shape -> shape.digest(out));
    }

    /** @throws org.antlr.v4.runtime.misc.ParseCancellationException if the text is not in the grammar's language */
    private static TreeShape parse(Grammar grammar, String text) {
        LexerInterpreter lexer = grammar.createLexerInterpreter(CharStreams.fromString(text));
        lexer.removeErrorListeners();
        ParserInterpreter parser = grammar.createParserInterpreter(new CommonTokenStream(lexer));
        parser.removeErrorListeners();
        parser.setErrorHandler(new BailErrorStrategy());
        TreeShape shape = new TreeShape(grammar.getRuleNames().length, grammar.getMaxTokenType());
        ParseTreeWalker.DEFAULT.walk(shape, parser.parse(0));
        return shape;
    }

    private static String resource(String name) throws IOException {
        try (InputStream in = AntlrBenchmark.class.getResourceAsStream(name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
