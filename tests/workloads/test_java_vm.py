"""A mistake in a program of the suite `vm`, or in what it reads, is noticed by the program itself."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

import pytest
from java_runs import ROOT, Programs, Run

SOURCES = ROOT / "benchmarks" / "java" / "vm" / "src" / "main" / "java"
PACKAGE = "org/regatta/bench/vm"


def test_javac_says_that_a_runtime_has_no_compiler(programs: Programs) -> None:
    flags = ("--limit-modules", "java.se,jdk.management")
    told = "this runtime has no module jdk.compiler (javax.tools.ToolProvider gives no compiler)"
    probed = programs.probe("vm/javac", flags=flags)
    assert (probed.code, probed.stderr) == (4, f"not possible: {told}\n")
    run = programs.benchmark("vm/javac", size="s1", flags=flags)
    assert run.code == 1
    assert told in run.stderr
    assert programs.probe("vm/jack", flags=flags).code == 0


def changed(programs: Programs, folder: Path, name: str, size: int = 1) -> Run:
    """Run a benchmark with the classes and resources of a folder in place of the jar's."""
    path = f"{folder}{os.pathsep}{programs.jar('vm.jar')}"
    arguments = (name, "--size", str(size), "--iterations", "1", "--seed", "1")
    return programs.java("-cp", path, "org.regatta.bench.vm.Main", *arguments)


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
    ("jess", "jess/Network", "NotNode.release(fact);", "", "of the houses' puzzle"),
    ("jess", "jess/JoinTest", "== equal;", "== true;", "of the houses' puzzle"),
    ("javac", "javac/MemoryFiles", "bytes.write(from, offset, length);", "bytes.write(from, offset, length - 1);",
     "is not valid|ends early|not a class file"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "text", "other", "told"), MISTAKES)
def test_a_mistake_in_a_program_is_noticed(
    programs: Programs, tmp_path: Path, name: str, file: str, text: str, other: str, told: str
) -> None:
    source = (SOURCES / PACKAGE / f"{file}.java").read_text(encoding="utf-8")
    assert source.count(text) == 1
    mutant = tmp_path / f"{Path(file).name}.java"
    mutant.write_text(source.replace(text, other), encoding="utf-8")
    classes = tmp_path / "classes"
    command = ["javac", "-cp", str(programs.jar("vm.jar")), "-d", str(classes), str(mutant)]
    subprocess.run(command, check=True, capture_output=True)
    error = only_error(changed(programs, classes, name))
    assert any(words in error for words in told.split("|")), error


#: a resource, a text in it, another text in its place, and what is told
SPOILT = [
    ("jess", f"{PACKAGE}/jess/houses.rules", "(not (may ?d ?w ?l)) (not (may ?d ?w ?r))", "(not (may ?d ?w ?l))",
     "of the houses' puzzle"),
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
