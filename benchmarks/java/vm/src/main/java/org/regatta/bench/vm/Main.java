package org.regatta.bench.vm;

import java.util.List;
import org.regatta.bench.Entry;
import org.regatta.bench.Harness;
import org.regatta.bench.vm.db.DbBenchmark;
import org.regatta.bench.vm.jack.JackBenchmark;
import org.regatta.bench.vm.javac.JavacBenchmark;
import org.regatta.bench.vm.jess.JessBenchmark;
import org.regatta.bench.vm.mpegaudio.MpegaudioBenchmark;
import org.regatta.bench.vm.mtrt.MtrtBenchmark;

/** The benchmarks of the suite {@code vm}. */
public final class Main {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(
                    "compress",
                    "LZW with a dictionary of objects compresses and expands generated text",
                    CompressBenchmark.MAX_SIZE,
                    CompressBenchmark::new),
            new Entry(
                    "db",
                    "A script adds, deletes, finds, moves and sorts records in memory",
                    DbBenchmark.MAX_SIZE,
                    DbBenchmark::new),
            new Entry(
                    "jack",
                    "JavaCC generates its own parser and that of its tree builder",
                    JackBenchmark.MAX_SIZE,
                    JackBenchmark::new),
            new Entry(
                    "javac",
                    "The running JVM's own compiler compiles a generated source tree in memory",
                    JavacBenchmark.MAX_SIZE,
                    // A lambda: without module java.compiler, the class must not be loaded with the table.
                    () -> new JavacBenchmark()),
            new Entry(
                    "jess",
                    "A rule engine (a Rete network with an agenda) solves puzzles",
                    JessBenchmark.MAX_SIZE,
                    JessBenchmark::new),
            new Entry(
                    "mpegaudio",
                    "Decodes a tune from frames with Huffman codes, an inverse MDCT and a filter bank",
                    MpegaudioBenchmark.MAX_SIZE,
                    MpegaudioBenchmark::new),
            new Entry(
                    "mtrt",
                    "Two threads trace the rays of a generated scene, alternate lines each",
                    MtrtBenchmark.MAX_SIZE,
                    MtrtBenchmark::new));

    private Main() {}

    public static void main(String[] args) {
        Harness.main(args, ENTRIES);
    }
}
