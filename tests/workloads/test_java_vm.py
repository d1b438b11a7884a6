"""A mistake in a program of the suite `vm`, or in what it reads, is noticed by the program itself."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from helpers.workloads.java_runs import QUICK, ROOT, Programs, Run

JAVA = ROOT / "benchmarks" / "java"
SOURCES = JAVA / "vm" / "src" / "main" / "java"
PACKAGE = "org/regatta/bench/vm"


def test_javac_says_that_a_runtime_has_no_compiler(programs: Programs) -> None:
    flags = ("--limit-modules", "java.se,jdk.management")
    probed = programs.probe("vm/javac", flags=flags)
    told, reason = probed.stderr.rstrip("\n").split(": ", 1)
    assert (probed.code, told) == (4, "not possible")
    assert "no module jdk.compiler" in reason
    run = programs.benchmark("vm/javac", size="s1", flags=flags)
    assert run.code == 1
    assert reason in run.stderr
    assert programs.probe("vm/jack", flags=flags).code == 0


def changed(programs: Programs, folder: Path, name: str, size: int = 1, jar: str = "vm.jar") -> Run:
    """Run a benchmark with the classes and resources of a folder in place of the jar's."""
    path = f"{folder}{os.pathsep}{programs.jar(jar)}"
    arguments = (name, "--size", str(size), "--iterations", "1", "--seed", "1")
    main = "vm" if jar == "vm.jar" else jar.removeprefix("apps.")
    return programs.java(QUICK, "-cp", path, f"org.regatta.bench.{main}.Main", *arguments)


def compile_mutant(
    programs: Programs, folder: Path, source: Path, text: str, other: str, jar: str = "vm.jar"
) -> Path:
    """A folder with the classes of one source in which one text is replaced."""
    original = source.read_text(encoding="utf-8")
    assert original.count(text) == 1
    mutant = folder / source.name
    mutant.write_text(original.replace(text, other), encoding="utf-8")
    classes = folder / "classes"
    command = ["javac", f"-J{QUICK}", "-cp", str(programs.jar(jar)), "-d", str(classes), str(mutant)]
    subprocess.run(command, check=True, capture_output=True)
    return classes


def only_error(run: Run) -> str:
    (error,) = [line["error"] for line in run.lines if "error" in line]
    assert run.code == 1
    assert run.digests() == []
    return str(error)


#: a class, a text in it, another text in its place, and what is told of the output then
MISTAKES = [
    ("compress", "Lzw", "int codes = previous == null ? dictionary.size() : dictionary.size() + 1;",
     "int codes = dictionary.size();", "differs after expansion|OutOfBounds"),
    ("db", "db/Session", "database.get(number(words[1])).book(-cents);", "", "accounts with"),
    ("db", "db/Database", "neighbours.remove(account.number());", "", "the indices disagree"),
    ("mtrt", "mtrt/BoxTree", "sorted.subList(sorted.size() / 2, sorted.size())",
     "sorted.subList(sorted.size() / 2 + 1, sorted.size())", "pixel"),
    ("mpegaudio", "mpegaudio/Mdct", "+ direction * below * SWAPPED[i]", "+ below * SWAPPED[i]", "the signal's power"),
    ("mpegaudio", "mpegaudio/Encoder", "frame.reservoirBytes = reservoirBytes;", "", "code words end|OutOfBounds"),
    ("jess", "jess/Network", "NotNode.release(fact);", "", "houses puzzle: "),
    ("jess", "jess/JoinTest", "== equal;", "== true;", "houses puzzle: "),
    ("javac", "javac/MemoryFiles", "bytes.write(from, offset, length);", "bytes.write(from, offset, length - 1);",
     "is not valid|ends early|not a class file"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "text", "other", "told"), MISTAKES)
def test_a_mistake_in_a_program_is_noticed(
    programs: Programs, tmp_path: Path, name: str, file: str, text: str, other: str, told: str
) -> None:
    classes = compile_mutant(programs, tmp_path, SOURCES / PACKAGE / f"{file}.java", text, other)
    error = only_error(changed(programs, classes, name))
    assert any(words in error for words in told.split("|")), error


#: a jar, a benchmark of it, size, a source, a text in it, and another in its place that changes the output
UNSEEN = [
    ("vm.jar", "db", 1, "vm/src/main/java/org/regatta/bench/vm/db/Session", "selection.sort(Database.order(keys));",
     "selection.sort(Database.order(keys)); if (selection.size() > 12) java.util.Collections.swap(selection, 11, 12);"),
    ("apps.lucene", "luindex", 2, "apps/lucene/src/main/java/org/regatta/bench/lucene/ArticleIndex",
     "type.setStoreTermVectorOffsets(true);", ""),
    ("apps.lucene", "luindex", 2, "apps/lucene/src/main/java/org/regatta/bench/lucene/ArticleIndex",
     "new NumericDocValuesField(DAY, article.day())", "new NumericDocValuesField(DAY, article.day() + 1)"),
]  # fmt: skip


@pytest.mark.parametrize(("jar", "name", "size", "file", "text", "other"), UNSEEN)
def test_another_output_has_another_digest(
    programs: Programs, tmp_path: Path, jar: str, name: str, size: int, file: str, text: str, other: str
) -> None:
    classes = compile_mutant(programs, tmp_path, JAVA / f"{file}.java", text, other, jar)
    run, right = changed(programs, classes, name, size, jar), changed(programs, tmp_path, name, size, jar)
    assert (run.code, right.code) == (0, 0), run.stderr
    assert len(run.digests()) == 1
    assert run.digests() != right.digests()


def test_compiled_code_that_computes_something_else_has_another_digest(
    programs: Programs, tmp_path: Path
) -> None:
    resource = "org/regatta/bench/inputs/source-templates.txt"
    with zipfile.ZipFile(programs.jar("vm.jar")) as jar:
        file = Path(jar.extract(resource, tmp_path))
    right = changed(programs, tmp_path, "javac", 10)
    original = file.read_text(encoding="utf-8")
    assert "return value + y;" in original
    # As a compiler would with a mistake in its code for this operator: what is declared stays the same.
    file.write_text(original.replace("return value + y;", "return value - y;"), encoding="utf-8")
    run = changed(programs, tmp_path, "javac", 10)
    assert (run.code, right.code) == (0, 0), run.stderr
    assert len(run.digests()) == 1
    assert run.digests() != right.digests()


#: a resource, a text in it, another text in its place, and what is told
SPOILT = [
    ("jess", f"{PACKAGE}/jess/houses.rules", "(not (may ?d ?w ?l)) (not (may ?d ?w ?r))", "(not (may ?d ?w ?l))",
     "houses puzzle: "),
    ("jack", "javacc-7.0.2/src/main/javacc/JavaCC.jj", '| < _TOKEN: "TOKEN" >', '| < _TOKEN: "TOKEN" > | < _B: "B" >',
     "NoSuchFieldException|expected"),
    ("jack", "javacc-7.0.2/src/main/javacc/JavaCC.jj", "PARSER_END(", "PARSER_FIN(", "JavaCC failed on"),
    ("javac", "org/regatta/bench/inputs/source-templates.txt", "long sum = $CONSTANT;", "long sum = missing;",
     "does not compile"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "resource", "text", "other", "told"), SPOILT)
def test_a_spoilt_input_is_noticed(
    programs: Programs, tmp_path: Path, name: str, resource: str, text: str, other: str, told: str
) -> None:
    with zipfile.ZipFile(programs.jar("vm.jar")) as jar:
        file = Path(jar.extract(resource, tmp_path))
    original = file.read_text(encoding="utf-8")
    assert text in original
    file.write_text(original.replace(text, other), encoding="utf-8")
    error = only_error(changed(programs, tmp_path, name))
    assert any(words in error for words in told.split("|")), error
