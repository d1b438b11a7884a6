package org.regatta.bench.antlr;

import java.io.StringWriter;
import java.io.Writer;
import java.util.Map;
import org.antlr.runtime.ANTLRStringStream;
import org.antlr.v4.Tool;
import org.antlr.v4.tool.ANTLRMessage;
import org.antlr.v4.tool.ANTLRToolListener;
import org.antlr.v4.tool.Grammar;
import org.antlr.v4.tool.ast.GrammarRootAST;

/** ANTLR's tool, from memory to memory. */
final class MemoryTool extends Tool {
    private final Map<String, StringWriter> files;

    /** @param files receives the text of every file that the tool writes, by name */
    MemoryTool(Map<String, StringWriter> files) {
        this.files = files;
        gen_listener = true;
        gen_visitor = true;
        removeListeners();
        addListener(new Refusing());
    }

    /**
     * Generate a lexer, a parser, a listener and a visitor.
     *
     * @param name of the grammar
     * @param text the grammar
     * @return the grammar as analysed by the tool
     */
    Grammar make(String name, String text) {
        String fileName = name + GRAMMAR_EXTENSION;
        GrammarRootAST tree = parse(fileName, new ANTLRStringStream(text));
        Grammar grammar = createGrammar(tree);
        grammar.fileName = fileName;
        process(grammar, true);
        return grammar;
    }

    @Override
    public Writer getOutputFileWriter(Grammar grammar, String fileName) {
        return files.computeIfAbsent(fileName, name -> new StringWriter());
    }

    /** The grammars cause no messages: any message ends the run, with its cause. */
    private static final class Refusing implements ANTLRToolListener {
        @Override
        public void info(String message) {
            throw new IllegalStateException(message);
        }

        @Override
        public void error(ANTLRMessage message) {
            throw new IllegalStateException("error: " + message, message.getCause());
        }

        @Override
        public void warning(ANTLRMessage message) {
            throw new IllegalStateException("warning: " + message, message.getCause());
        }
    }
}
