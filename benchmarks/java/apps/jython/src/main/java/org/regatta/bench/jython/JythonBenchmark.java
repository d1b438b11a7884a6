package org.regatta.bench.jython;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.python.core.Py;
import org.python.core.PyCode;
import org.python.core.PyException;
import org.python.core.PyObject;
import org.python.core.PyStringMap;
import org.python.core.PySystemState;
import org.python.util.PythonInterpreter;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;

/**
 * Runs Python programs with Jython. Each is compiled to bytecode once and runs in a new namespace in every iteration.
 * The output is the return value of each program.
 */
final class JythonBenchmark implements Benchmark {
    static final int MAX_SIZE = 10_000;

    /** Each is a resource that defines {@code run(size, seed)}. */
    private static final List<String> PROGRAMS =
            List.of("records", "scheduler", "sheet", "text", "generators", "patterns", "numbers");

    private final List<PyCode> compiled = new ArrayList<>();
    private int size;
    private long seed;
    private List<String> output;

    @Override
    public void setup(int size, long seed) throws IOException {
        this.size = size;
        this.seed = seed;
        Properties properties = new Properties();
        // Write no files except the results, and read only from the jar.
        properties.setProperty("python.cachedir.skip", "true");
        properties.setProperty("python.import.site", "false");
        properties.setProperty("python.console.encoding", "UTF-8");
        PySystemState.initialize(new Properties(), properties);
        try (PythonInterpreter interpreter = new PythonInterpreter()) {
            interpreter.exec("import sys; sys.path[:] = ['__pyclasspath__/Lib']");
            for (String program : PROGRAMS) {
                compiled.add(interpreter.compile(source(program), program + ".py"));
            }
        }
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        output = new ArrayList<>();
    }

    @Override
    public long iterate(int iteration) {
        long characters = 0;
        for (PyCode program : compiled) {
            String text = run(program);
            output.add(text);
            characters += text.length();
        }
        return characters;
    }

    @Override
    public void digest(OutputDigest out) {
        output.forEach(out::put);
    }

    private String run(PyCode program) {
        try (PythonInterpreter interpreter = new PythonInterpreter(new PyStringMap())) {
            interpreter.exec(program);
            PyObject result = interpreter.get("run").__call__(Py.newInteger(size), Py.newInteger(seed));
            return result.toString();
        } catch (PyException e) {
            if (e.match(Py.MemoryError)) {
                // Jython keeps neither the name nor the cause of the JVM's error.
                OutOfMemoryError error = new OutOfMemoryError("a Python program ended by MemoryError");
                error.initCause(e);
                throw error;
            }
            throw e;
        }
    }

    private static String source(String program) throws IOException {
        try (InputStream in = JythonBenchmark.class.getResourceAsStream(program + ".py")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
