package org.regatta.bench.vm.jack;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The output directories of the generators. */
final class GeneratedFiles {
    private static final String LINES_OF_TOOL = "(?m)^/\\* (Generated [Bb]y|JavaCC - OriginalChecksum).*$";

    private GeneratedFiles() {}

    /** Delete a directory and its contents, if it exists. */
    static void delete(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        List<Path> deepestFirst;
        try (Stream<Path> walk = Files.walk(directory)) {
            deepestFirst = walk.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
        }
        for (Path path : deepestFirst) {
            Files.delete(path);
        }
    }

    /** @return the texts of the files by name, sorted; without the lines in which the tool identifies itself */
    static Map<String, String> read(Path directory) throws IOException {
        List<Path> paths;
        try (Stream<Path> list = Files.list(directory)) {
            paths = list.collect(Collectors.toList());
        }
        Map<String, String> texts = new TreeMap<>();
        for (Path path : paths) {
            String text = new String(Files.readAllBytes(path), StandardCharsets.UTF_8);
            texts.put(path.getFileName().toString(), text.replaceAll(LINES_OF_TOOL, ""));
        }
        return texts;
    }
}
