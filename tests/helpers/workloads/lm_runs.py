"""Running a micro-benchmark as a user would, and reading what it said."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from regatta.host.measure.cgroup import TreeAccounting

ROOT = Path(__file__).resolve().parents[3]
SUITE = YAML(typ="safe").load(ROOT / "configs/suites/lm.yml")
BUILD = SUITE["builds"]["lm"]
MISSING = [program for program in ("gcc", "make") if shutil.which(program) is None]

Series = tuple[tuple[str, Any], ...]

#: a program that hangs would never end; a machine may stop a process that does not for many seconds
PATIENCE_S = 300
#: how a program says that the machine's state is why it gives no number: its load, or memory in small pieces
REFUSALS = ("too busy", "the load is too unstable", "MiB in huge pages, got")


@dataclass(frozen=True)
class Run:
    exit_code: int
    stdout: str
    stderr: str
    lines: list[dict[str, Any]]

    @property
    def info(self) -> dict[str, Any]:
        info: dict[str, Any]
        (info,) = (line["info"] for line in self.lines if "info" in line)
        return info

    def of(self, metric: str) -> dict[Series, list[dict[str, Any]]]:
        """Lines of a metric by their parameters."""
        found: dict[Series, list[dict[str, Any]]] = {}
        for line in self.lines:
            if line.get("metric") == metric:
                found.setdefault(tuple(line["parameters"].items()), []).append(line)
        return found

    @property
    def series(self) -> dict[Series, list[dict[str, Any]]]:
        """All of a program that reports one metric."""
        metrics = {line["metric"] for line in self.lines if "metric" in line}
        assert len(metrics) <= 1, metrics
        return self.of(*metrics) if metrics else {}


@dataclass(frozen=True)
class Reading:
    """Two clocks at a moment, or between two: the time, and the processor's time of the process; ns."""

    clock_ns: int
    cpu_ns: int


@dataclass(frozen=True)
class Interval:
    """A line of the log of planted.c: `before` and `after` enclose what the harness times, and that has the others in it."""

    operations: int
    before: Reading
    start: Reading
    end: Reading
    after: Reading
    #: within pauses
    paused: Reading


def intervals_of(log: Path) -> list[Interval]:
    """The intervals of a child of planted.c, in their order."""
    found = []
    for line in log.read_text().splitlines():
        operations, *readings = map(int, line.split())
        found.append(
            Interval(
                operations, *(Reading(*pair) for pair in zip(readings[::2], readings[1::2], strict=True))
            )
        )
    return found


def build(copy: Path) -> None:
    """Make a copy of the sources in which the suite's own build command has run."""
    shutil.copytree(ROOT / BUILD["directory"], copy, ignore=shutil.ignore_patterns("build"))
    subprocess.run([*BUILD["command"], "-j2"], cwd=copy, check=True)


def run(command: list[str | Path], directory: Path, *, may_refuse: bool = True, **environment: str) -> Run:
    """Run in `directory`, which is made; what is reported goes beside it.

    A program that refuses to give a number because of such a state is right: its test is skipped. With `may_refuse` False
    a refusal is an outcome like any other.
    """
    directory.mkdir(parents=True, exist_ok=True)
    results = directory.parent / f"{directory.name}.jsonl"
    made = {"PATH": os.environ["PATH"], "REGATTA_RESULTS": str(results), **environment}
    ended = subprocess.run(
        command, cwd=directory, env=made, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    if may_refuse:
        skip_a_refusal(ended.returncode, ended.stderr)
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    return Run(ended.returncode, ended.stdout, ended.stderr, lines)


def skip_a_refusal(exit_code: int, stderr: str) -> None:
    """Skip the test of a program that failed because of the machine's state."""
    if exit_code == 1 and any(words in stderr for words in REFUSALS):
        pytest.skip(f"NOT TESTED: {stderr.strip()}")


def command_of(name: str, size: str, sources: Path, **overrides: object) -> list[str]:
    """The suite's command for a size; `overrides` stand in for parameters of the size."""
    benchmark = SUITE["benchmarks"][name]
    values = {f"lm.{output}": str(sources / path) for output, path in BUILD["outputs"].items()}
    given = benchmark["sizes"][size]["parameters"] | overrides
    values.update({key: str(value) for key, value in given.items()})
    return [
        re.sub(r"\{([^}]+)\}", lambda match: values[match[1]], argument) for argument in benchmark["command"]
    ]


def assert_conforms(outcome: Run, repetitions: int, metric: str = "latency", unit: str = "ns") -> None:
    """Every series of the metric has its repetitions, in order, finite and positive; nothing was complained of."""
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stderr == ""
    assert list(outcome.lines[0]) == ["info"]
    found = outcome.of(metric)
    assert found
    for lines in found.values():
        assert [line["iteration"] for line in lines] == list(range(repetitions))
        for line in lines:
            assert set(line) >= {"iteration", "metric", "value", "unit", "parameters"}
            assert line["unit"] == unit
            assert math.isfinite(line["value"])
            assert line["value"] > 0
            assert line.get("operations", 1) >= 1
            assert line["parameters"]["parallel"] >= 1
    assert len(outcome.stdout.splitlines()) == len(found)


def compile_against(sources: Path, source: Path, program: Path, *flags: str) -> Path:
    objects = sorted((sources / "build/harness").glob("*.o"))
    command: list[str | Path] = [
        "gcc",
        "-std=c11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-I.",
        *flags,
        "-o",
        program,
        source,
    ]
    subprocess.run([*command, *objects, "-pthread", "-lm"], cwd=sources, check=True)
    return program


def altered(sources: Path, place: Path, program: str, right: str, wrong: str) -> Path:
    """A program in whose source one text is another, compiled in `place`."""
    text = (sources / f"{program}.c").read_text()
    assert text.count(right) == 1, f"{program}.c does not hold {right!r} once"
    source = place / f"{program}.c"
    source.write_text(text.replace(right, wrong))
    objects = [*(sources / "build/harness").glob("*.o"), *(sources / "build/ipc").glob("*.o")]
    command: list[str | Path] = ["gcc", "-std=c11", "-O2", f"-I{sources}", "-o", place / program, source]
    subprocess.run([*command, *objects, "-pthread", "-lm"], check=True)
    return place / program


def in_a_group(accounting: TreeAccounting, command: list[str | Path], place: Path) -> Run:
    """Run in a control group of its own, as the runner does it. The shell is born in it and waits for the program."""
    place.mkdir()
    results = place / "results.jsonl"
    accounting.begin()
    started = subprocess.Popen(
        command, cwd=place, env={"PATH": os.environ["PATH"], "REGATTA_RESULTS": str(results)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    accounting.started()
    stdout, stderr = started.communicate(timeout=PATIENCE_S)
    accounting.finish()
    skip_a_refusal(started.returncode, stderr)
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    return Run(started.returncode, stdout, stderr, lines)
