package org.regatta.bench.vm.jack;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.javacc.parser.JavaCCParserConstants;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;

/**
 * JavaCC repeatedly generates its own parser, and that of its tree builder JJTree, from their grammars; the output is
 * the generated sources.
 *
 * <p>Stresses: many short strings, string builders and hash tables that die young, together with the trees of one
 * grammar; small files. There is no randomness: the seed is ignored.
 */
public final class JackBenchmark implements Benchmark {
    public static final int MAX_SIZE = 1000;

    /** Location of JavaCC's sources in the jar; the release is that of the pom. */
    private static final String SOURCES = "/javacc-7.0.2/src/main/";
    private static final Path OUTPUT = Path.of("jack-output");

    private Path ownGrammar;
    private Path treeGrammar;
    private int runs;

    @Override
    public void setup(int size, long seed) throws IOException {
        ownGrammar = Generator.grammar(SOURCES + "javacc/JavaCC.jj");
        treeGrammar = Generator.grammar(SOURCES + "jjtree/JJTree.jjt");
        runs = 1 + size * 2 / 5;
    }

    /** JavaCC skips existing files that have not changed. */
    @Override
    public void prepare(int iteration) throws IOException {
        GeneratedFiles.delete(OUTPUT);
    }

    @Override
    public long iterate(int iteration) throws Exception {
        long files = 0;
        for (int run = 0; run < runs; run++) {
            Path directory = directory(run);
            Path grammar = isOwn(run) ? ownGrammar : Generator.jjtree(treeGrammar, directory);
            Generator.javacc(grammar, directory);
            files += directory.toFile().list().length;
        }
        return files;
    }

    @Override
    public void digest(OutputDigest out) throws Exception {
        out.put(runs);
        for (int run = 0; run < runs; run++) {
            Map<String, String> files = GeneratedFiles.read(directory(run));
            if (isOwn(run)) {
                checkConstants(files.get("JavaCCParserConstants.java"));
            }
            files.forEach((name, text) -> out.put(name).put(text));
        }
    }

    @Override
    public void teardown() throws IOException {
        GeneratedFiles.delete(OUTPUT);
        Generator.deleteGrammars();
    }

    /** The running JavaCC was built from this grammar: both must number the tokens identically. */
    private static void checkConstants(String generated) throws Exception {
        if (generated == null) {
            throw new WrongResultException("the parser's constants were not generated");
        }
        Matcher constant = Pattern.compile("int (\\w+) = (\\d+);").matcher(generated);
        int found = 0;
        while (constant.find()) {
            int running = JavaCCParserConstants.class.getField(constant.group(1)).getInt(null);
            if (running != Integer.parseInt(constant.group(2))) {
                throw new WrongResultException(
                        constant.group(1) + ": expected " + running + ", generated " + constant.group(2));
            }
            found++;
        }
        int expected = 0;
        for (Field field : JavaCCParserConstants.class.getFields()) {
            expected += field.getType() == int.class ? 1 : 0;
        }
        if (found != expected) {
            throw new WrongResultException("expected " + expected + " constants, generated " + found);
        }
    }

    /** The other constants belong to the tree builder. */
    private static boolean isOwn(int run) {
        return run % 2 == 0;
    }

    private static Path directory(int run) {
        return OUTPUT.resolve("run-" + run);
    }
}
