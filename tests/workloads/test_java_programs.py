"""What every program of the suites `vm` and `apps` promises: the output that its suite expects, here and elsewhere, from its input
alone; nothing left behind; and an exhausted heap told by name. That other JVMs give the same output is in test_java_matrix.py.
"""

from __future__ import annotations

import pytest

from helpers.workloads.java_runs import QUICK, SUITES, Programs, Run, expected_digest, jvm

LABELS = [f"{suite}/{name}" for suite in ("vm", "apps") for name in SUITES[suite]["benchmarks"]]
#: every program, some of them in the first tier
AND_SMOKE = [
    pytest.param(label, marks=pytest.mark.smoke) if label in ("vm/compress", "vm/db", "apps/xalan") else label
    for label in LABELS
]
SMALLEST = {"vm": "s1", "apps": "tiny"}
#: its input is its own grammar, whatever the seed
WITHOUT_SEED = ("vm/jack",)
#: they need a newer release than 11, as they say themselves
NEWER = ("vm/javac", "apps/ecj", "apps/pmd")
ELSEWHERE = (
    "-Duser.language=tr",
    "-Duser.country=TR",
    "-Duser.timezone=Asia/Tokyo",
    "-Dfile.encoding=ISO-8859-1",
)
#: size and heaps in which the JVM starts, but the program does not complete
TOO_SMALL = {
    "vm/compress": ("s10", 6), "vm/db": ("s10", 4), "vm/jack": ("s10", 4), "vm/javac": ("s10", 8), "vm/jess": ("s10", 6),
    "vm/mpegaudio": ("s100", 6), "vm/mtrt": ("s100", 4),
    "apps/antlr": ("small", 8), "apps/batik": ("small", 8), "apps/bloat": ("small", 4), "apps/crawler": ("small", 6),
    "apps/ecj": ("small", 6), "apps/fop": ("small", 8), "apps/h2": ("default", 8), "apps/hsqldb": ("default", 10),
    "apps/jython": ("small", 6), "apps/luindex": ("default", 6), "apps/lusearch": ("default", 6), "apps/pmd": ("small", 12),
    "apps/scanner": ("default", 6), "apps/xalan": ("small", 5),
}  # fmt: skip
OUT_OF_MEMORY = "java.lang.OutOfMemoryError"


def smallest(label: str) -> str:
    return SMALLEST[label.split("/")[0]]


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {}


@pytest.fixture
def once(programs: Programs, runs: dict[str, Run], label: str) -> Run:
    """A program's one run at its smallest size on the java of the system, for all tests that only look at what came out."""
    if label not in runs:
        runs[label] = programs.benchmark(label, size=smallest(label))
    return runs[label]


@pytest.mark.parametrize("label", AND_SMOKE)
def test_every_iteration_gives_the_output_that_the_suite_expects(once: Run, label: str) -> None:
    run = once
    assert run.code == 0, run.stderr
    assert (run.stdout, run.stderr) == ("", "")
    assert run.digests() == [expected_digest(label, smallest(label))] * 2


@pytest.mark.parametrize("label", LABELS)
def test_nothing_is_left_but_what_the_command_asks_for(once: Run) -> None:
    left = {path.name for path in once.directory.iterdir()}
    assert left == {"results.jsonl", "safepoints.log", "gc.log"}


@pytest.mark.parametrize("label", [label for label in LABELS if label not in WITHOUT_SEED])
def test_another_seed_gives_another_output(programs: Programs, once: Run, label: str) -> None:
    other = programs.benchmark(label, size=smallest(label), iterations=1, data_seed=2, flags=(QUICK,))
    assert other.code == 0, other.stderr
    assert len(other.digests()) == 1
    assert other.digests()[0] not in once.digests()


@pytest.mark.parametrize("label", LABELS)
def test_the_output_is_the_same_in_another_place_and_on_the_oldest_jvm(
    programs: Programs, label: str
) -> None:
    program = "java" if label in NEWER else jvm(11)
    run = programs.benchmark(
        label, size=smallest(label), iterations=1, flags=(*ELSEWHERE, QUICK), program=program
    )
    assert run.digests() == [expected_digest(label, smallest(label))], run.stderr


@pytest.mark.parametrize("label", LABELS)
def test_a_heap_that_is_too_small_is_told_by_name_and_is_not_called_a_wrong_result(
    programs: Programs, label: str
) -> None:
    size, heap_mib = TOO_SMALL[label]
    flags = (f"-Xmx{heap_mib}m", "-XX:+UseSerialGC", QUICK)
    run = programs.benchmark(label, size=size, flags=flags, iterations=1)
    assert run.code == 1
    assert OUT_OF_MEMORY in run.stderr
    assert not [line for line in run.lines if "error" in line]
