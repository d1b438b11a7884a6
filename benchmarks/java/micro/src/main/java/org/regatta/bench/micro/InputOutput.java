package org.regatta.bench.micro;

import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.io.Reader;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

final class InputOutput extends Group {
    private static final int[] BYTES = {512, 8192, 65536};
    private static final int[] CHARS = {16, 128, 1024};

    private Path file;

    @Override
    void addOperations() throws Exception {
        file = Files.createTempFile("micro", ".txt");
        opened(() -> Files.delete(file));
        Files.write(file, Inputs.prose(65536));
        addFiles();
        addReaders();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(8192);
        value("byte_array_output_write", i -> {
            if ((i & 4095) == 0) {
                bytes.reset();
            }
            bytes.write((int) i);
            return i;
        }, i -> {
            if ((i & 4095) == 0) {
                bytes.reset();
            }
            return i;
        });
        ValueOperation indexed = Inputs.indexed(Inputs.words(16));
        Writer writer = new BufferedWriter(Writer.nullWriter());
        value("buffered_writer_write", i -> {
            writer.write((int) ('a' + (i & 15)));
            return i;
        });
        values("buffered_writer_write_text", "chars", CHARS, chars -> {
            String[] some = Inputs.words(chars);
            return i -> {
                writer.write(some[Inputs.index(i)]);
                return i;
            };
        }, chars -> indexed);
    }

    private void addFiles() throws Exception {
        File named = file.toFile();
        value("file_open_close", i -> {
            new FileInputStream(named).close();
            return i;
        });
        value("file_exists", i -> named.exists() ? 1 : i);
        RandomAccessFile random = opened(new RandomAccessFile(named, "rw"));
        ValueOperation sought = i -> {
            random.seek(0);
            return i;
        };
        values("file_read", "bytes", BYTES, bytes -> {
            byte[] buffer = new byte[bytes];
            return i -> {
                random.seek(0);
                return random.read(buffer);
            };
        }, bytes -> sought);
        values("file_write", "bytes", BYTES, bytes -> {
            byte[] buffer = Inputs.prose(bytes);
            return i -> {
                random.seek(0);
                random.write(buffer);
                return i;
            };
        }, bytes -> sought);
        FileChannel channel = opened(FileChannel.open(file, StandardOpenOption.READ));
        values("channel_read", "bytes", BYTES, bytes -> {
            ByteBuffer buffer = ByteBuffer.allocateDirect(bytes);
            return i -> channel.read(buffer.clear(), 0);
        });
    }

    private void addReaders() throws Exception {
        byte[] prose = Inputs.prose(65536);
        InputStream in = new BufferedInputStream(new Endless(prose));
        value("buffered_input_read", i -> in.read());
        Reader reader = new BufferedReader(new InputStreamReader(new Endless(prose), StandardCharsets.UTF_8));
        value("buffered_reader_read", i -> reader.read());
        object("buffered_reader_new", i -> new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8)));
        objects("buffered_reader_read_line", "chars", CHARS, chars -> {
            byte[] lines = Inputs.prose(65536);
            for (int at = chars - 1; at < lines.length; at += chars) {
                lines[at] = '\n';
            }
            BufferedReader read = new BufferedReader(new InputStreamReader(new Endless(lines), StandardCharsets.UTF_8));
            return i -> read.readLine();
        });
    }

    /** An endless stream of the same bytes. */
    private static final class Endless extends InputStream {
        private final ByteArrayInputStream bytes;

        Endless(byte[] bytes) {
            this.bytes = new ByteArrayInputStream(bytes);
        }

        @Override
        public int read() {
            if (bytes.available() == 0) {
                bytes.reset();
            }
            return bytes.read();
        }

        @Override
        public int read(byte[] buffer, int from, int length) {
            if (bytes.available() == 0) {
                bytes.reset();
            }
            return bytes.read(buffer, from, length);
        }

        @Override
        public int available() {
            return bytes.available();
        }
    }
}
