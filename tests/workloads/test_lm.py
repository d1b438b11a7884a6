"""The micro-benchmarks in C: built from a copy and run as a user would run them."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
SUITE = YAML(typ="safe").load(ROOT / "configs/suites/lm.yml")
BUILD = SUITE["builds"]["lm"]
CALLS = ["null", "read", "write", "stat", "fstat", "open_close"]

MISSING = [program for program in ("gcc", "make") if shutil.which(program) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"NOT TESTED: {', '.join(MISSING)} is not on PATH")


@dataclass(frozen=True)
class Run:
    exit_code: int
    stdout: str
    stderr: str
    lines: list[dict[str, Any]]

    @property
    def info(self) -> dict[str, Any]:
        (info,) = (line["info"] for line in self.lines if "info" in line)
        return info

    @property
    def series(self) -> dict[tuple[tuple[str, Any], ...], list[dict[str, Any]]]:
        found: dict[tuple[tuple[str, Any], ...], list[dict[str, Any]]] = {}
        for line in self.lines:
            if "metric" in line:
                found.setdefault(tuple(line["parameters"].items()), []).append(line)
        return found


def run(command: list[str | Path], directory: Path, **environment: str) -> Run:
    directory.mkdir(parents=True, exist_ok=True)
    results = directory.parent / f"{directory.name}.jsonl"
    made = {"PATH": os.environ["PATH"], "REGATTA_RESULTS": str(results), **environment}
    ended = subprocess.run(
        command, cwd=directory, env=made, capture_output=True, text=True, timeout=60, check=False
    )
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    return Run(ended.returncode, ended.stdout, ended.stderr, lines)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources in which the suite's own build command has run."""
    copy = tmp_path_factory.mktemp("lm") / "lm"
    shutil.copytree(ROOT / BUILD["directory"], copy, ignore=shutil.ignore_patterns("build"))
    subprocess.run(BUILD["command"], cwd=copy, check=True)
    return copy


@pytest.fixture(scope="module")
def planted(sources: Path) -> Path:
    program = sources / "build/planted"
    objects = sorted((sources / "build/harness").glob("*.o"))
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I."]
    own = Path(__file__).with_name("planted.c")
    subprocess.run(["gcc", *flags, "-o", program, own, *objects], cwd=sources, check=True)
    return program


def command_of(name: str, size: str, sources: Path) -> list[str]:
    benchmark = SUITE["benchmarks"][name]
    values = {f"lm.{output}": str(sources / path) for output, path in BUILD["outputs"].items()}
    values.update({key: str(value) for key, value in benchmark["sizes"][size]["parameters"].items()})
    return [
        re.sub(r"\{([^}]+)\}", lambda match: values[match[1]], argument) for argument in benchmark["command"]
    ]


@pytest.fixture(scope="module")
def memory(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(command_of("lat_mem_rd", "quick", sources), tmp_path_factory.mktemp("memory") / "work")


@pytest.fixture(scope="module")
def calls(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(command_of("lat_syscall", "quick", sources), tmp_path_factory.mktemp("calls") / "work")


def assert_conforms(outcome: Run, repetitions: int) -> None:
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stderr == ""
    assert list(outcome.lines[0]) == ["info"]
    for lines in outcome.series.values():
        assert [line["iteration"] for line in lines] == list(range(repetitions))
        for line in lines:
            assert set(line) == {"iteration", "metric", "value", "unit", "operations", "parameters"}
            assert (line["metric"], line["unit"]) == ("latency", "ns")
            assert math.isfinite(line["value"])
            assert line["value"] > 0
            assert line["operations"] >= 1
        assert len({line["operations"] for line in lines}) == 1
    assert len(outcome.stdout.splitlines()) == len(outcome.series)
    assert sum(map(len, outcome.series.values())) == len(outcome.lines) - 1


def test_memory_latency_reports_a_series_for_each_size(memory: Run) -> None:
    assert_conforms(memory, repetitions=5)
    sizes = [dict(parameters)["size_bytes"] for parameters in memory.series]
    assert sizes == [4096 << step for step in range(9)]
    assert {dict(parameters)["stride_bytes"] for parameters in memory.series} == {64}
    assert re.search(
        r"size_bytes=4096 .*latency [\d.]+ ns \(quartiles [\d.]+ and [\d.]+\), median of 5", memory.stdout
    )


def test_memory_does_not_get_faster_as_the_area_grows(memory: Run) -> None:
    least = [min(line["value"] for line in lines) for lines in memory.series.values()]
    assert least[0] < 1.5 * least[-1]


def test_system_calls_report_a_series_each(calls: Run) -> None:
    assert_conforms(calls, repetitions=5)
    assert [dict(parameters) for parameters in calls.series] == [{"call": name} for name in CALLS]


def test_opening_and_closing_costs_more_than_a_call_that_does_nothing(calls: Run) -> None:
    least = {dict(key)["call"]: min(line["value"] for line in lines) for key, lines in calls.series.items()}
    assert least["null"] < 1.5 * least["open_close"]


def test_the_file_for_stat_and_open_is_gone_afterwards(sources: Path, tmp_path: Path) -> None:
    outcome = run([sources / "build/lat_syscall", "--call=stat", "--repetitions=1"], tmp_path / "work")
    assert outcome.exit_code == 0
    assert list((tmp_path / "work").iterdir()) == []


def test_the_harness_tells_what_it_found_about_clock_and_loop(memory: Run) -> None:
    info = memory.info
    assert info["clock"] == "CLOCK_MONOTONIC"
    assert info["clock_resolution_ns"] >= 1
    assert 0 < info["clock_overhead_ns"] < 1e6
    assert 0 < info["loop_overhead_ns"] < 1e3
    assert info["interval_ns"] >= 200 * info["clock_resolution_ns"]
    assert info["interval_trusted"] == (info["interval_error"] <= 0.0025) or info["interval_error"] == 0.0025
    assert info["repetitions"] == 5


def test_without_a_results_file_only_people_are_told(sources: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sources / "build/lat_syscall", "--call", "null", "--repetitions", "1"],
        cwd=tmp_path, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("lat_syscall call=null: latency ")


def test_an_interval_can_be_lengthened(sources: Path, tmp_path: Path) -> None:
    command = [sources / "build/lat_syscall", "--call=null", "--repetitions=1", "--interval-us=30000"]
    assert run(command, tmp_path / "work").info["interval_ns"] == 30_000_000


def test_a_planted_duration_is_measured_as_planted(planted: Path, tmp_path: Path) -> None:
    outcome = run([planted, "spin", "20000"], tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    values = [line["value"] for line in outcome.series[()]]
    # The least: whoever else uses the processor can only lengthen an operation.
    assert 0.7 * 20000 < min(values) < 1.3 * 20000


def test_twice_the_dependent_work_takes_twice_the_time(planted: Path, tmp_path: Path) -> None:
    least: dict[int, list[float]] = {200: [], 400: []}
    # In turns, so that a change of the processor's frequency falls on both.
    for turn in range(3):
        for length, found in least.items():
            outcome = run([planted, "chain", str(length)], tmp_path / f"work-{length}-{turn}")
            found.append(min(line["value"] for line in outcome.series[()]))
    ratio = statistics.median(least[400]) / statistics.median(least[200])
    assert 0.7 * 2 < ratio < 1.3 * 2


def test_work_that_the_compiler_dropped_is_an_error_and_no_number(planted: Path, tmp_path: Path) -> None:
    outcome = run([planted, "nothing", "1"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert outcome.series == {}
    assert "no work is done" in outcome.lines[-1]["error"]
    assert "no work is done" in outcome.stderr


def test_a_failing_operation_is_an_error_and_is_cleaned_up(planted: Path, tmp_path: Path) -> None:
    outcome = run([planted, "fail", "1"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert outcome.series == {}
    assert "benchmark: Input/output error" in outcome.lines[-1]["error"]
    assert "opened 1 closed 1" in outcome.stdout


@pytest.mark.parametrize(
    ("program", "arguments", "message"),
    [
        ("lat_mem_rd", ["--max-kib", "many"], "--max-kib: expected an integer from 1 to"),
        ("lat_mem_rd", ["--max-kib", "-1"], "got -1"),
        ("lat_mem_rd", ["--max-kib", "99999999999999999999"], "--max-kib: expected an integer"),
        ("lat_mem_rd", ["--max-kib="], "got nothing"),
        ("lat_mem_rd", ["--max-kib"], "--max-kib: expected a value, got nothing"),
        ("lat_mem_rd", ["--max-kib", "2"], "no less than --min-kib"),
        ("lat_mem_rd", ["--stride", "12"], "a multiple of the 8 bytes"),
        ("lat_mem_rd", ["--stride", "4096"], "at most half of --min-kib"),
        ("lat_mem_rd", ["--order", "sideways"], "expected one of random strided, got sideways"),
        ("lat_mem_rd", ["--repetitions", "0"], "--repetitions: expected an integer from 1"),
        (
            "lat_syscall",
            ["--call", "fork"],
            "expected one of all null read write stat fstat open_close, got fork",
        ),
        ("lat_syscall", ["--file", "not-there"], "--file: expected a file that can be read"),
        ("lat_syscall", ["--speed", "1"], "expected an option, got --speed"),
        ("lat_syscall", ["read"], "expected an option, got read"),
    ],
)
def test_bad_input_is_refused_with_a_message(
    sources: Path, tmp_path: Path, program: str, arguments: list[str], message: str
) -> None:
    outcome = run([sources / "build" / program, *arguments], tmp_path / "work")
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert (outcome.stdout, outcome.lines) == ("", [])


def test_a_bad_seed_is_refused(sources: Path, tmp_path: Path) -> None:
    outcome = run([sources / "build/lat_mem_rd"], tmp_path / "work", REGATTA_SEED="0x10")
    assert outcome.exit_code == 2
    assert "REGATTA_SEED" in outcome.stderr


@pytest.mark.parametrize("program", ["lat_mem_rd", "lat_syscall"])
def test_help_names_every_option(sources: Path, tmp_path: Path, program: str) -> None:
    outcome = run([sources / "build" / program, "--help"], tmp_path / "work")
    assert outcome.exit_code == 0
    used = {a for a in SUITE["benchmarks"][program]["command"] if a.startswith("--")}
    assert {option for option in used if option not in outcome.stdout} == set()


def test_results_that_cannot_be_written_fail_the_run(sources: Path, tmp_path: Path) -> None:
    outcome = run(
        [sources / "build/lat_syscall"], tmp_path / "work", REGATTA_RESULTS=str(tmp_path / "no/file")
    )
    assert outcome.exit_code == 1
    assert "REGATTA_RESULTS" in outcome.stderr


def test_the_programs_run_clean_under_the_sanitizers(sources: Path, tmp_path: Path) -> None:
    probe = tmp_path / "probe.c"
    probe.write_text("int main(void) { return 0; }\n")
    linked = subprocess.run(
        ["gcc", "-fsanitize=address,undefined", "-o", tmp_path / "probe", probe],
        capture_output=True,
        check=False,
    )
    if linked.returncode != 0:
        pytest.skip("NOT TESTED: this gcc has no AddressSanitizer")
    subprocess.run(["make", "-s", "sanitized"], cwd=sources, check=True)
    built = sources / "build/sanitized"
    for name, command in {
        "random": [built / "lat_mem_rd", "--min-kib=3", "--max-kib=100", "--repetitions=2"],
        "strided": [built / "lat_mem_rd", "--max-kib=16", "--order=strided", "--stride=8", "--repetitions=2"],
        "calls": [built / "lat_syscall", "--repetitions=2"],
    }.items():
        outcome = run(command, tmp_path / name)
        assert (outcome.exit_code, outcome.stderr) == (0, "")
