"""What every Java program on the harness does: its lines, its errors, its arguments."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.workloads.java_runs import SUITES, Programs, Run
from regatta.host.units import UNITS

#: one that is alone, and one that has threads
BENCHMARKS = {"vm/compress": "s10", "apps/h2": "small"}
OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
PER_ITERATION = {
    "elapsed": "ns",
    "cpu": "ns",
    "cpu_thread": "ns",
    "collector_cpu": "ns",
    "gc_time": "ns",
    "gc_count": "count",
    "allocated": "bytes",
    "compile_time": "ns",
}
#: reported where there are pauses or collections enough, or a log of the collector
IF_PAUSED = {
    "gc_pause": "ns",
    "gc_pause_total": "ns",
    "gc_concurrent": "ns",
    "heap_after": "bytes",
    "collections": "count",
    "collection_time": "ns",
}


@pytest.fixture(scope="module")
def small(programs: Programs) -> dict[str, Run]:
    """Each benchmark once at size small, for all tests that only look at what came out."""
    return {name: programs.benchmark(name, size=size) for name, size in BENCHMARKS.items()}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_iteration_reports_each_metric_in_its_unit_and_nothing_else(
    small: dict[str, Run], name: str
) -> None:
    run = small[name]
    assert run.code == 0, run.stderr
    assert run.stdout == ""
    measured = [line for line in run.lines if "metric" in line]
    assert {line["iteration"] for line in measured} == {0, 1}
    for line in measured:
        parameters = {"parameters"} if line["metric"] in IF_PAUSED.keys() - {"gc_concurrent"} else set()
        assert set(line) == {"iteration", "metric", "value", "unit"} | parameters
        assert line["unit"] == (PER_ITERATION | IF_PAUSED)[line["metric"]]
        assert line["unit"] in UNITS
        assert isinstance(line["value"], int)
        assert line["value"] >= 0
    for metric in PER_ITERATION:
        assert len(run.values(metric)) == 2, metric
    assert all(len({"metric", "digest", "info", "requests"} & set(line)) == 1 for line in run.lines)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_work_takes_time_and_allocates(small: dict[str, Run], name: str) -> None:
    assert min(small[name].values("elapsed")) > 10_000_000
    assert min(small[name].values("allocated")) > 10 * 2**20


def test_two_runs_with_the_same_seed_give_the_same_output(programs: Programs) -> None:
    first, second = (
        programs.benchmark("vm/compress", size="s1", iterations=1, data_seed=7) for _ in range(2)
    )
    assert first.digests() == second.digests()
    assert len(first.digests()) == 1


@pytest.fixture(scope="module")
def exhausted(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """Runs a benchmark of Exhausted.java, with a database at hand, in a heap that is too small for it."""
    classes = tmp_path_factory.mktemp("exhausted")
    jar = str(programs.jar("apps.h2"))
    source = Path(__file__).with_name("Exhausted.java")
    subprocess.run(["javac", "-cp", jar, "-d", str(classes), str(source)], check=True)

    def run(benchmark: str) -> Run:
        path = f"{jar}{os.pathsep}{classes}"
        return programs.java(
            "-Xmx32m", "-cp", path, "Exhausted", benchmark, "--size", "1", "--iterations", "1"
        )

    return run


@pytest.mark.parametrize(
    ("benchmark", "frame"),
    [
        ("pooled", "Exhausted.ask"),
        ("alone", "Exhausted.ask"),
        ("clients", "Exhausted.ask"),
        ("batch", "Exhausted$Batch.iterate"),
    ],
)
def test_an_exhausted_heap_is_told_wherever_it_happens_and_however_it_is_wrapped(
    exhausted: Callable[[str], Run], benchmark: str, frame: str
) -> None:
    run = exhausted(benchmark)
    assert run.code == 1
    assert OUT_OF_MEMORY in run.stderr
    assert frame in run.stderr
    assert not [line for line in run.lines if "error" in line]


def test_another_failure_is_not_told_as_an_exhausted_heap(exhausted: Callable[[str], Run]) -> None:
    run = exhausted("cycle")
    assert run.code == 1
    assert OUT_OF_MEMORY not in run.stderr
    assert [line["error"] for line in run.lines if "error" in line] == ["java.sql.SQLException: a"]


def test_the_seed_of_the_environment_counts_when_none_is_given(programs: Programs) -> None:
    arguments = ("compress", "--size", "1", "--iterations", "1")
    given = programs.main(*arguments, "--seed", "-5")
    assert programs.main(*arguments, REGATTA_SEED="-5").digests() == given.digests()
    assert programs.main(*arguments).digests() == programs.main(*arguments, "--seed", "1").digests()


def test_without_a_results_file_a_person_reads_the_lines(programs: Programs) -> None:
    run = programs.main("compress", "--size", "1", "--iterations", "1", "--collect", REGATTA_RESULTS="")
    assert run.code == 0
    assert re.search(r"^iteration 0: elapsed \d+ ns", run.stdout, re.MULTILINE)
    assert re.search(r"^iteration 0: digest [0-9a-f]{64}$", run.stdout, re.MULTILINE)


def test_numbers_are_written_the_same_in_every_locale(programs: Programs) -> None:
    flags = ("-Duser.language=ar", "-Duser.country=EG", "-Duser.extensions=u-nu-arab")
    run = programs.benchmark("vm/compress", size="s1", flags=flags, iterations=1)
    assert run.code == 0
    assert len(run.values("elapsed")) == 1


def test_a_results_file_that_cannot_be_written_fails_the_run(programs: Programs) -> None:
    run = programs.main("compress", "--size", "1", "--iterations", "1", REGATTA_RESULTS="/proc/no/such/file")
    assert run.code == 1
    assert "could not be recorded" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "one of compress"),
        (("gcc", "--size", "1", "--iterations", "1"), "got gcc"),
        (("compress", "--iterations", "1"), "expected --size N"),
        (("compress", "--size", "1"), "expected --iterations N"),
        (("compress", "--size", "0", "--iterations", "1"), "--size: expected an integer"),
        (("compress", "--size", "99999", "--iterations", "1"), "at most 2048 for compress"),
        (("compress", "--size", "1", "--iterations", "1.5"), "got '1.5'"),
        (("compress", "--size", "1", "--iterations"), "expected a value"),
        (("compress", "--colour"), "unknown option --colour"),
    ],
)
def test_a_wrong_argument_is_told_and_exits_with_2(
    programs: Programs, arguments: tuple[str, ...], told: str
) -> None:
    run = programs.main(*arguments)
    assert run.code == 2
    assert told in run.stderr
    assert run.lines == []


def test_a_wrong_seed_of_the_environment_is_told_and_exits_with_2(programs: Programs) -> None:
    run = programs.main("compress", "--size", "1", "--iterations", "1", REGATTA_SEED="one")
    assert run.code == 2
    assert "REGATTA_SEED" in run.stderr


def test_the_list_names_what_the_suite_names(programs: Programs) -> None:
    listed = dict(line.split("\t") for line in programs.main("--list").stdout.splitlines())
    assert listed == {name: block["description"] for name, block in SUITES["vm"]["benchmarks"].items()}


def test_help_goes_to_stdout_and_succeeds(programs: Programs) -> None:
    run = programs.main("--help")
    assert run.code == 0
    assert "REGATTA_RESULTS" in run.stdout
