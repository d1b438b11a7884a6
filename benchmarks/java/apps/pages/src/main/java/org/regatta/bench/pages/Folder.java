package org.regatta.bench.pages;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** A folder for one run, in the working directory. */
final class Folder {
    private final Path path;

    Folder() throws IOException {
        path = Files.createTempDirectory(Path.of("").toAbsolutePath(), "pages-");
    }

    Path file(String name) {
        return path.resolve(name);
    }

    void empty() throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(path)) {
            for (Path file : files) {
                Files.delete(file);
            }
        }
    }

    void delete() throws IOException {
        empty();
        Files.delete(path);
    }
}
