"""The two programs that look at the host rather than at an operation: cpu_noise and clock_order."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.workloads.lm_runs import Run, altered, command_of, run

NOISE = [
    "quantum_median",
    "quantum_p99",
    "slowdown_p99",
    "interrupted",
    "interruptions",
    "interruption_longest",
]
PROCESSORS = sorted(os.sched_getaffinity(0))
several = pytest.mark.skipif(len(PROCESSORS) < 2, reason="NOT TESTED: there is one processor only")


def noise(sources: Path, directory: Path, processor: int) -> Run:
    command = command_of("cpu_noise", "quick", sources)
    outcome = run(["taskset", "-c", str(processor), *command], directory)
    assert outcome.exit_code == 0, outcome.stderr
    return outcome


def values(outcome: Run, metric: str) -> list[float]:
    (lines,) = outcome.of(metric).values()
    return [line["value"] for line in lines]


def test_noise_is_told_of_the_processor_that_it_was_measured_on(lm_sources: Path, tmp_path: Path) -> None:
    for processor in PROCESSORS[:2]:
        outcome = noise(lm_sources, tmp_path / str(processor), processor)
        for metric in NOISE:
            ((parameters, lines),) = outcome.of(metric).items()
            assert dict(parameters)["processor"] == str(processor)
            assert len(lines) == 5
        for middle, late, ratio in zip(*(values(outcome, metric) for metric in NOISE[:3]), strict=True):
            assert late >= middle
            assert ratio == pytest.approx(late / middle, rel=1e-6)


def test_interruptions_are_found_by_what_the_clock_says(lm_sources: Path, tmp_path: Path) -> None:
    """A clock by which each quantum takes 50 us, and each fourth one three times as much again."""
    program = altered(
        lm_sources, tmp_path, "cpu_noise", "uint64_t after_ns = lm_now_ns();",
        "uint64_t after_ns = before_ns + 50000 + (i % 4 == 3 ? 150000 : 0);",
    )  # fmt: skip
    outcome = run([program, "--period-ms=100", "--repetitions=3"], tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    found = {metric: set(values(outcome, metric)) for metric in NOISE}
    assert found["quantum_median"] == {50_000}
    assert (found["quantum_p99"], found["slowdown_p99"]) == ({200_000}, {4})
    assert found["interrupted"] == {float(f"{100 * 150 / (4 * 50 + 150):.9g}")}
    assert (found["interruptions"], found["interruption_longest"]) == ({25}, {150_000})


@several
def test_time_goes_forward_from_one_processor_to_each_of_the_others(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(command_of("clock_order", "quick", lm_sources), tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    pairs = [(dict(key)["from"], dict(key)["to"]) for key in outcome.of("clock_step")]
    assert pairs == [(PROCESSORS[0], other) for other in PROCESSORS[1:]]
    assert all(line["value"] >= 0 for lines in outcome.of("clock_step").values() for line in lines)


@several
def test_a_clock_that_differs_between_processors_is_an_error(lm_sources: Path, tmp_path: Path) -> None:
    """The clock is replaced by one that is 100 s behind on the highest processor."""
    planted = tmp_path / "planted.c"
    planted.write_text(
        "#define _GNU_SOURCE\n#include <sched.h>\n#include <stdint.h>\n#include <unistd.h>\n"
        "uint64_t __real_lm_now_ns(void);\nuint64_t __wrap_lm_now_ns(void);\n"
        "uint64_t __wrap_lm_now_ns(void) {\n"
        f"    const int is_a_thread = gettid() != getpid();\n"
        f"    const int is_behind = is_a_thread && sched_getcpu() == {PROCESSORS[-1]};\n"
        "    return __real_lm_now_ns() - (is_behind ? UINT64_C(100000000000) : 0);\n}\n"
    )
    objects = sorted((lm_sources / "build/harness").glob("*.o"))
    program = tmp_path / "clock_order"
    subprocess.run(
        ["gcc", "-std=c11", "-O2", "-I.", "-Wl,--wrap=lm_now_ns", "-o", program, "clock_order.c", planted, *objects, "-pthread", "-lm"],
        cwd=lm_sources, check=True,
    )  # fmt: skip
    outcome = run([program, "--repetitions=3"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert "the clock goes backward: -" in outcome.stderr
    assert "the clock goes backward: -" in outcome.lines[-1]["error"]


def test_one_processor_alone_has_no_order(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(["taskset", "-c", str(PROCESSORS[0]), lm_sources / "build/clock_order"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert "two available processors, got" in outcome.stderr


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("cpu_noise", ["--quantum-us=0"]),
        ("cpu_noise", ["--quantum-us=50", "--period-ms=1"]),
        ("cpu_noise", ["--parallel=2"]),
        ("clock_order", ["--exchanges=1"]),
        ("clock_order", ["--parallel=2"]),
    ],
)
def test_what_says_nothing_is_refused(
    lm_sources: Path, tmp_path: Path, program: str, arguments: list[str], golden: Golden
) -> None:
    outcome = run([lm_sources / "build" / program, *arguments], tmp_path / "work")
    assert outcome.exit_code == 2
    golden(shlex.join([program, *arguments]), outcome.stderr)
