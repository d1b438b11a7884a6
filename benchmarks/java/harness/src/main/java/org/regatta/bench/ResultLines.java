package org.regatta.bench;

import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** Appends the protocol lines to a file after each iteration, so that a killed run keeps earlier results. */
final class ResultLines implements Listener {
    private static final int REQUESTS_A_LINE = 1000;

    private final Path path;

    ResultLines(Path path) {
        this.path = path;
    }

    @Override
    public void started(Map<String, Object> info) throws IOException {
        append(Json.of(Map.of("info", info)));
    }

    @Override
    public void iterationEnded(int iteration, List<Measurement> measurements) throws IOException {
        StringBuilder lines = new StringBuilder();
        for (Measurement measurement : measurements) {
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("iteration", iteration);
            line.put("metric", measurement.metric());
            line.put("value", measurement.value());
            line.put("unit", measurement.unit());
            if (measurement.operations() > 0) {
                line.put("operations", measurement.operations());
            }
            if (!measurement.parameters().isEmpty()) {
                line.put("parameters", measurement.parameters());
            }
            lines.append(lines.length() == 0 ? "" : "\n").append(Json.of(line));
        }
        append(lines.toString());
    }

    @Override
    public void requested(int iteration, List<Requests> logs) throws IOException {
        OptionalLong origin = logs.stream()
                .filter(log -> log.count() > 0)
                .mapToLong(log -> log.startNs(0))
                .min();
        if (origin.isEmpty()) {
            return;
        }
        try (Writer out = Files.newBufferedWriter(path, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            for (Requests log : logs) {
                for (int from = 0; from < log.count(); from += REQUESTS_A_LINE) {
                    int to = Math.min(log.count(), from + REQUESTS_A_LINE);
                    writeRequests(out, iteration, log, from, to, origin.getAsLong());
                }
            }
        }
    }

    /** Write digit by digit: a string of all requests would fill the measured heap. */
    private static void writeRequests(Writer out, int iteration, Requests log, int from, int to, long originNs)
            throws IOException {
        out.write("{\"iteration\": " + iteration + ", \"requests\": {\"start_ns\": ");
        for (int i = from; i < to; i++) {
            out.write(i == from ? "[" : ",");
            out.write(Long.toString(log.startNs(i) - originNs));
        }
        out.write("], \"end_ns\": ");
        for (int i = from; i < to; i++) {
            out.write(i == from ? "[" : ",");
            out.write(Long.toString(log.endNs(i) - originNs));
        }
        out.write("]}}\n");
    }

    @Override
    public void digested(int iteration, String digest) throws IOException {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("iteration", iteration);
        line.put("digest", digest);
        append(Json.of(line));
    }

    @Override
    public void failed(Throwable cause) throws IOException {
        append(Json.of(Map.of("error", cause instanceof WrongResultException ? cause.getMessage() : cause.toString())));
    }

    private void append(String lines) throws IOException {
        Files.write(
                path,
                (lines + "\n").getBytes(StandardCharsets.UTF_8),
                StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }
}
