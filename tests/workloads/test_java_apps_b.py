"""The programs of the suite `apps` that work on XML: fop, xalan and batik."""

from __future__ import annotations

import re

import pytest
from java_runs import Programs, Run, expected_digest, jvm

APPS = ["apps/batik", "apps/fop", "apps/xalan"]
OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
#: heaps in which the JVM and the program start, but size small does not complete
TOO_SMALL = {"apps/batik": "-Xmx8m", "apps/fop": "-Xmx8m", "apps/xalan": "-Xmx5m"}


@pytest.fixture(scope="module")
def tiny(programs: Programs) -> dict[str, Run]:
    """Each program once on the java of the system, with the log of the classes that it loads."""
    classes = ("-Xlog:class+load:file=classes.log",)
    return {label: programs.benchmark(label, size="tiny", flags=classes) for label in APPS}


@pytest.mark.parametrize("label", APPS)
def test_every_iteration_gives_the_output_that_the_suite_expects(tiny: dict[str, Run], label: str) -> None:
    run = tiny[label]
    assert run.code == 0, run.stderr
    assert run.stderr == ""
    assert run.digests() == [expected_digest(label, "tiny")] * 2


@pytest.mark.parametrize("label", APPS)
@pytest.mark.parametrize("release", [11, 25])
def test_the_oldest_and_the_newest_jvm_give_the_same_output(
    programs: Programs, label: str, release: int
) -> None:
    run = programs.benchmark(label, size="tiny", program=jvm(release), iterations=1)
    assert run.digests() == [expected_digest(label, "tiny")], run.stderr


@pytest.mark.parametrize("label", APPS)
def test_the_output_is_the_same_in_another_place(programs: Programs, label: str) -> None:
    flags = ("-Duser.language=de", "-Duser.country=DE", "-Duser.timezone=Asia/Tokyo")
    run = programs.benchmark(label, size="tiny", flags=flags, iterations=1)
    assert run.digests() == [expected_digest(label, "tiny")], run.stderr


@pytest.mark.parametrize("label", APPS)
def test_another_seed_gives_another_output(programs: Programs, label: str) -> None:
    other = programs.benchmark(label, size="tiny", iterations=1, data_seed=2)
    assert len(other.digests()) == 1, other.stderr
    assert other.digests() != [expected_digest(label, "tiny")]


@pytest.mark.parametrize("label", APPS)
def test_parsing_and_transforming_is_done_by_classes_of_the_jar(tiny: dict[str, Run], label: str) -> None:
    log = (tiny[label].directory / "classes.log").read_text(encoding="utf-8")
    loaded = dict(re.findall(r"\] (\S+) source: (\S+)", log))
    assert loaded["org.apache.xerces.parsers.SAXParser"].endswith(".jar")
    if label == "apps/xalan":
        assert loaded["org.apache.xalan.processor.TransformerFactoryImpl"].endswith("regatta-xalan.jar")
        copies = [name for name in loaded if name.startswith("com.sun.org.apache")]
        assert copies == [], "the JVM's own copy of Xalan or Xerces has been used"


@pytest.mark.parametrize("label", APPS)
def test_nothing_is_left_beside_the_results_and_the_logs(tiny: dict[str, Run], label: str) -> None:
    left = {path.name for path in tiny[label].directory.iterdir()}
    assert left == {"results.jsonl", "safepoints.log", "classes.log"}


@pytest.mark.parametrize("label", APPS)
def test_a_heap_that_is_too_small_is_told_by_name(programs: Programs, label: str) -> None:
    run = programs.benchmark(label, size="small", flags=(TOO_SMALL[label], "-XX:+UseSerialGC"), iterations=1)
    assert run.code == 1
    assert OUT_OF_MEMORY in run.stderr
    assert not run.digests()


@pytest.mark.parametrize("label", APPS)
def test_the_probe_finds_what_the_program_needs(programs: Programs, label: str) -> None:
    assert programs.probe(label).code == 0


def test_a_jvm_without_the_classes_for_colours_is_told_by_the_probe_in_its_own_words(
    programs: Programs,
) -> None:
    run = programs.probe("apps/fop", flags=("--limit-modules", "java.xml,java.management,java.logging"))
    assert run.code == 4
    assert re.search(r"^not possible: java\.lang\.ClassNotFoundException: java\.awt\.", run.stderr)
