package org.regatta.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Appends the protocol's lines to a file, an iteration at a time, so that a killed run keeps what it had. */
final class ResultLines implements Listener {
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
            lines.append(lines.isEmpty() ? "" : "\n").append(Json.of(line));
        }
        append(lines.toString());
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
