"""The programs of the suite `apps` that work on XML use the libraries that they bring, and say what a JVM lacks for them."""

from __future__ import annotations

import re

import pytest

from helpers.workloads.java_runs import Programs

APPS = ["apps/batik", "apps/fop", "apps/xalan"]


@pytest.mark.parametrize("label", APPS)
def test_parsing_and_transforming_is_done_by_classes_of_the_jar(programs: Programs, label: str) -> None:
    run = programs.benchmark(label, size="tiny", iterations=1, flags=("-Xlog:class+load:file=classes.log",))
    log = (run.directory / "classes.log").read_text(encoding="utf-8")
    loaded = dict(re.findall(r"\] (\S+) source: (\S+)", log))
    assert loaded["org.apache.xerces.parsers.SAXParser"].endswith(".jar")
    if label == "apps/xalan":
        assert loaded["org.apache.xalan.processor.TransformerFactoryImpl"].endswith("regatta-xalan.jar")
        copies = [name for name in loaded if name.startswith("com.sun.org.apache")]
        assert copies == [], "the JVM's own copy of Xalan or Xerces has been used"


@pytest.mark.parametrize("label", APPS)
def test_the_probe_finds_what_the_program_needs(programs: Programs, label: str) -> None:
    assert programs.probe(label).code == 0


def test_a_jvm_without_the_classes_for_colours_is_told_by_the_probe_in_its_own_words(
    programs: Programs,
) -> None:
    run = programs.probe("apps/fop", flags=("--limit-modules", "java.xml,java.management,java.logging"))
    assert run.code == 4
    assert re.search(r"^not possible: java\.lang\.ClassNotFoundException: java\.awt\.", run.stderr)
