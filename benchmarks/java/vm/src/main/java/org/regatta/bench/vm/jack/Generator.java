package org.regatta.bench.vm.jack;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.javacc.jjtree.JJTree;
import org.javacc.parser.Main;
import org.regatta.bench.WrongResultException;

/** Runs JavaCC and JJTree in this process; their {@code main} would exit. */
final class Generator {
    private static final Path GRAMMARS = Path.of("jack-grammars");

    private Generator() {}

    /**
     * Write a grammar from JavaCC's sources to a file.
     *
     * @param resource its path in the jar
     */
    static Path grammar(String resource) throws IOException {
        Files.createDirectories(GRAMMARS);
        Path file = GRAMMARS.resolve(resource.substring(resource.lastIndexOf('/') + 1));
        try (InputStream in = Generator.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IOException("the jar was built without " + resource);
            }
            Files.write(file, in.readAllBytes());
        }
        return file;
    }

    /** Delete the output of {@code grammar}. */
    static void deleteGrammars() throws IOException {
        GeneratedFiles.delete(GRAMMARS);
    }

    /** Generate a parser into {@code directory}. */
    static void javacc(Path grammar, Path directory) throws Exception {
        String[] arguments = {"-OUTPUT_DIRECTORY=" + directory, grammar.toString()};
        run("JavaCC", grammar, () -> Main.mainProgram(arguments));
    }

    /**
     * Generate a grammar that builds trees, and the node classes, into {@code directory}.
     *
     * @return the grammar
     */
    static Path jjtree(Path grammar, Path directory) throws Exception {
        String[] arguments = {
            "-OUTPUT_DIRECTORY=" + directory, "-JJTREE_OUTPUT_DIRECTORY=" + directory, grammar.toString()
        };
        run("JJTree", grammar, () -> new JJTree().main(arguments));
        String name = grammar.getFileName().toString();
        return directory.resolve(name.substring(0, name.length() - 1));
    }

    private interface Tool {
        int run() throws Exception;
    }

    /** Redirect the messages of the tools from standard output; they are the reason of a failure. */
    private static void run(String name, Path grammar, Tool tool) throws Exception {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream told = new ByteArrayOutputStream();
        int code;
        try (PrintStream kept = new PrintStream(told, false, StandardCharsets.UTF_8)) {
            System.setOut(kept);
            System.setErr(kept);
            code = tool.run();
        } finally {
            System.setOut(out);
            System.setErr(err);
            // All state of the tools is static: it must not survive until the next run.
            Main.reInitAll();
        }
        if (code != 0) {
            throw new WrongResultException(
                    name + " failed on " + grammar + ": " + told.toString(StandardCharsets.UTF_8));
        }
    }
}
