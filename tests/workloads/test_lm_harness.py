"""The timing harness: what it tells is what passed, in intervals that are long enough; one that does not is caught."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.workloads.lm_runs import ROOT, Interval, Run, compile_against, intervals_of, run

#: longer than any time slice, and short enough for a test
SEVERAL = ("--parallel", "2", "--interval-us", "100000")


# ---- what is told is what passed ----


def timed_intervals(log: Path, repetitions: int, operations: int) -> list[Interval]:
    """Those with as many operations as are reported, without the ones that found the number, in order."""
    timed = [interval for interval in intervals_of(log) if interval.operations == operations][-repetitions:]
    assert len(timed) == repetitions
    return timed


def within_ns(interval: Interval) -> int:
    """The operations alone: the harness times this, and a little more."""
    return interval.end.clock_ns - interval.start.clock_ns


def around_ns(interval: Interval) -> int:
    """From before the harness looks at its clock until after it has looked again."""
    return interval.after.clock_ns - interval.before.clock_ns


def elapsed_ns(line: dict[str, Any], info: dict[str, Any]) -> float:
    """What the clock of the harness showed, from what it reported: each operation of `planted` is one turn of its loop."""
    return line["operations"] * (line["value"] + info["loop_overhead_ns"]) + info["clock_overhead_ns"]


def assert_told_what_passed(outcome: Run, log: Path, metric: str = "latency") -> None:
    """Between the two looks at the clock lies what the benchmark logged, and nothing of its neighbours.

    This holds on every machine, however busy: who takes the processor lengthens what is told and what is logged.
    """
    assert outcome.exit_code == 0, outcome.stderr
    ((_, lines),) = outcome.of(metric).items()
    operations = lines[0]["operations"]
    rounded_ns = 0.0001 * operations + 1  # the costs are told with so many digits
    for line, logged in zip(lines, timed_intervals(log, len(lines), operations), strict=True):
        elapsed = elapsed_ns(line, outcome.info)
        assert within_ns(logged) - rounded_ns <= elapsed <= around_ns(logged) + rounded_ns


def test_a_planted_duration_is_found(planted: Path, tmp_path: Path) -> None:
    command = [planted, "--kind=spin", "--amount=20000", "--log=log"]
    outcome = run(command, tmp_path / "work")
    assert_told_what_passed(outcome, tmp_path / "work/log.0")
    ((_, lines),) = outcome.series.items()
    assert min(line["value"] for line in lines) > 0.999 * 20000


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="NOT TESTED: two processes need two CPUs")
def test_a_planted_duration_is_found_by_each_of_two_children(planted: Path, tmp_path: Path) -> None:
    command = [planted, "--kind=spin", "--amount=20000", "--log=log", "--repetitions=4", *SEVERAL]
    outcome = run(command, tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    (fastest,), (slowest,) = outcome.of("latency_fastest").values(), outcome.of("latency_slowest").values()
    children = [
        timed_intervals(tmp_path / f"work/log.{child}", 4, fastest[0]["operations"]) for child in (0, 1)
    ]
    for low, high, *both in zip(fastest, slowest, *children, strict=True):
        assert low["value"] > 0.999 * 20000
        for line, choose in ((low, min), (high, max)):
            least, most = choose(map(within_ns, both)), choose(map(around_ns, both))
            assert least - 1 <= elapsed_ns(line, outcome.info) <= most + 1


def test_the_cost_of_the_loop_is_taken_off(planted: Path, tmp_path: Path) -> None:
    """Of an operation as short as this the loop is a good part: with it the sum would be longer than what passed."""
    outcome = run([planted, "--kind=chain", "--amount=2", "--log=log"], tmp_path / "work")
    assert_told_what_passed(outcome, tmp_path / "work/log.0")


def test_a_cost_of_the_loop_that_is_not_taken_off_would_be_seen(
    mutant: Callable[[str, str, str], Path], tmp_path: Path
) -> None:
    wrong = mutant("child.c", "order->calibration->loop_overhead_ns * (double)turns;", "0;")
    outcome = run([wrong, "--kind=chain", "--amount=2", "--log=log"], tmp_path / "work")
    with pytest.raises(AssertionError):
        assert_told_what_passed(outcome, tmp_path / "work/log.0")


def test_where_the_loop_costs_as_much_as_all_of_it_there_is_no_number(
    mutant: Callable[[str, str, str], Path], tmp_path: Path
) -> None:
    dear = mutant("calibrate.c", "= loop_cost_ns(calibration)", "= 1e9")
    outcome = run([dear, "--kind=empty"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert outcome.series == {}
    whole_ns, loop_ns = map(int, re.findall(r"(\d+) ns", outcome.stderr))
    assert whole_ns <= loop_ns
    assert "of the empty loop" in outcome.stderr


def test_work_that_the_compiler_dropped_is_an_error_and_no_number(planted: Path, tmp_path: Path) -> None:
    outcome = run([planted, "--kind", "nothing"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert outcome.series == {}
    assert "it does no work" in outcome.lines[-1]["error"]
    assert "it does no work" in outcome.stderr


# ---- how long, how often ----


#: so much of an interval is enough for one process (SHORTFALL in measure.c), less a nanosecond of rounding
ENOUGH = 0.7999


def shortest_interval_ns(outcome: Run, metric: str = "latency") -> float:
    ((_, lines),) = outcome.of(metric).items()
    return min(elapsed_ns(line, outcome.info) for line in lines)


def assert_intervals_can_be_trusted(outcome: Run) -> None:
    info = outcome.info
    assert shortest_interval_ns(outcome) >= ENOUGH * info["trusted_interval_ns"]
    assert info["trusted_interval_ns"] >= 200 * info["clock_resolution_ns"]


def test_an_interval_is_as_long_as_can_be_trusted(planted: Path, tmp_path: Path) -> None:
    outcome = run([planted, "--kind", "spin", "--amount", "1000"], tmp_path / "work")
    assert_intervals_can_be_trusted(outcome)


def test_too_short_an_interval_would_be_seen(mutant: Callable[[str, str, str], Path], tmp_path: Path) -> None:
    wrong = mutant("measure.c", "? least_ns : harness->calibration.trusted_ns;", "? least_ns : 1;")
    outcome = run([wrong, "--kind", "spin", "--amount", "1000"], tmp_path / "work")
    with pytest.raises(AssertionError):
        assert_intervals_can_be_trusted(outcome)


def test_an_interval_can_be_lengthened(planted: Path, tmp_path: Path) -> None:
    command = [planted, "--kind=spin", "--amount=1000", "--repetitions=1", "--interval-us=30000"]
    assert shortest_interval_ns(run(command, tmp_path / "work")) >= ENOUGH * 30_000_000


def test_several_children_are_timed_for_a_second_each(planted: Path, tmp_path: Path) -> None:
    command = [planted, "--kind=spin", "--amount=1000", "--repetitions=1", "--parallel=2"]
    outcome = run(command, tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    assert shortest_interval_ns(outcome, "latency_fastest") >= 0.9999e9


def test_an_interval_of_several_that_cannot_be_long_enough_is_refused(
    lm_sources: Path, tmp_path: Path
) -> None:
    command = [lm_sources / "build/bw_file_rd", "--cache=cold", "--file=own", "--kib=64", "--parallel=2"]
    outcome = run(command, tmp_path / "work")
    assert outcome.exit_code == 1
    assert outcome.series == {}
    assert "at least 100000000 ns" in outcome.stderr
    assert "use --parallel 1" in outcome.stderr


def test_an_interval_of_several_shorter_than_a_time_slice_is_refused(planted: Path, tmp_path: Path) -> None:
    outcome = run([planted, "--parallel=2", "--interval-us=5000"], tmp_path / "work")
    assert outcome.exit_code == 2
    assert re.search(r"--interval-us: .* at least 100000 .* got '?5000'?", outcome.stderr)


def test_people_are_told_the_median_its_quartiles_and_its_interval(planted: Path, tmp_path: Path) -> None:
    outcome = run([planted, "--kind", "spin", "--amount", "1000"], tmp_path / "work")
    ((_, lines),) = outcome.series.items()
    values = sorted(line["value"] for line in lines)
    told = outcome.stdout.partition(": latency ")[2]
    assert "median of 11" in told
    # Of 11 values the 2nd and the 10th: 2 x (1 + 11) / 2^11 = 1.2 % lie outside; the 3rd and the 9th would have 6.5 %.
    quartiles = [(values[2] + values[3]) / 2, (values[7] + values[8]) / 2]
    expected = [values[5], *quartiles, 95, values[1], values[9], 11]
    numbers = [float(text) for text in re.findall(r"\d[\d.]*(?:e[+-]\d+)?", told)]
    assert numbers[:7] == pytest.approx(expected, rel=1e-3)


# ---- a new benchmark ----


def test_the_new_benchmark_of_the_documentation_has_ten_lines_and_runs(
    lm_sources: Path, tmp_path: Path
) -> None:
    text = (ROOT / "benchmarks/lm/README.md").read_text()
    (code,) = re.findall(r"```c\n(.*?)```", text, flags=re.DOTALL)
    assert len(code.strip().splitlines()) <= 10
    source = tmp_path / "lat_getppid.c"
    source.write_text(code)
    program = compile_against(lm_sources, source, tmp_path / "lat_getppid")
    outcome = run([program, "--repetitions=3"], tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    assert len(outcome.series[(("parallel", 1),)]) == 3
