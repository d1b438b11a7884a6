"""The programs of the suite `apps` on languages: antlr, bloat, jython and pmd."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

import pytest
from java_runs import Programs, Run, expected_digest, jvm

APPS = ["apps/antlr", "apps/bloat", "apps/jython", "apps/pmd"]
OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
#: heaps in which the JVM starts, but size small does not complete
TOO_SMALL = {"apps/antlr": "-Xmx8m", "apps/bloat": "-Xmx4m", "apps/jython": "-Xmx6m", "apps/pmd": "-Xmx12m"}
#: what a JVM says that it lacks
NOT_POSSIBLE = {("apps/pmd", 11): "java.lang.ClassNotFoundException: java.lang.Record"}


@pytest.fixture(scope="module")
def tiny(programs: Programs) -> dict[str, Run]:
    """Each program once on the java of the system."""
    return {label: programs.benchmark(label, size="tiny") for label in APPS}


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
    if (label, release) in NOT_POSSIBLE:
        asked = programs.probe(label, program=jvm(release))
        assert asked.code == 4
        assert NOT_POSSIBLE[label, release] in asked.stderr
        return
    run = programs.benchmark(label, size="tiny", program=jvm(release), iterations=1)
    assert run.digests() == [expected_digest(label, "tiny")], run.stderr


@pytest.mark.parametrize("label", APPS)
def test_another_seed_gives_another_output_in_another_place_too(programs: Programs, label: str) -> None:
    flags = ("-Duser.language=tr", "-Duser.country=TR", "-Duser.timezone=Asia/Tokyo")
    other = programs.benchmark(label, size="tiny", iterations=1, data_seed=2, flags=flags)
    assert len(other.digests()) == 1, other.stderr
    assert other.digests() != [expected_digest(label, "tiny")]


@pytest.mark.parametrize("label", APPS)
def test_the_output_does_not_depend_on_the_place(programs: Programs, label: str) -> None:
    flags = ("-Duser.language=tr", "-Duser.country=TR", "-Dfile.encoding=ISO-8859-1")
    run = programs.benchmark(label, size="tiny", iterations=1, flags=flags)
    assert run.digests() == [expected_digest(label, "tiny")], run.stderr


@pytest.mark.parametrize("label", APPS)
def test_nothing_is_left_beside_the_results_and_the_logs(tiny: dict[str, Run], label: str) -> None:
    left = {path.name for path in tiny[label].directory.iterdir()}
    assert left == {"results.jsonl", "safepoints.log"}


@pytest.mark.parametrize("label", APPS)
def test_a_heap_that_is_too_small_is_told_by_name(programs: Programs, label: str) -> None:
    run = programs.benchmark(label, size="small", flags=(TOO_SMALL[label], "-XX:+UseSerialGC"), iterations=1)
    assert run.code == 1
    assert OUT_OF_MEMORY in run.stderr
    assert not run.digests()


def test_a_database_rewritten_by_bloat_is_verified_by_the_jvm_and_computes_right_sums(
    programs: Programs, tmp_path: Path
) -> None:
    jar = programs.jar("apps.bloat")
    with zipfile.ZipFile(jar) as archive:
        (tmp_path / "library.jar").write_bytes(archive.read("org/regatta/bench/bloat/library.jar"))
    source = Path(__file__).with_name("RunsRewritten.java")
    subprocess.run(["javac", "-cp", str(jar), "-d", str(tmp_path), str(source)], check=True)
    places = os.pathsep.join([str(jar), str(tmp_path), str(tmp_path / "library.jar")])
    run = programs.java("-cp", places, "org.regatta.bench.bloat.RunsRewritten")
    assert run.code == 0, run.stderr
    verified, *sums, counted = run.stdout.splitlines()
    assert verified == "verified 686 of 686"
    squares = [sum((-1 if n % 3 == 0 else 1) * n * n for n in range(rest, 500, 3)) for rest in range(3)]
    joined = [len(range(rest, 250, 3)) for rest in range(3)]
    assert sums == [f"{rest} {squares[rest]} {joined[rest]}" for rest in range(3)]
    assert counted == "counted true"
