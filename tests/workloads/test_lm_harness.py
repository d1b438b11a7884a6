"""The timing harness: known costs are found in intervals that are long enough, and one that measures too shortly is caught."""

from __future__ import annotations

import os
import re
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lm_runs import ROOT, Run, compile_against, run

from regatta.host.measure.host_state import HostState

pytestmark = pytest.mark.alone

#: longer than any time slice, and short enough for a test
SEVERAL = ("--parallel", "2", "--interval-us", "100000")
#: a neighbour on the second processor lengthens all of a run
TURNS = 20
#: share of a run in which some process waits for a processor; on a quiet machine it is below 0.05
BUSY = 0.2
HOST = HostState([])


# ---- a planted cost is found ----


def within(value: float, truth: float, tolerance: float) -> bool:
    return (1 - tolerance) * truth < value < (1 + tolerance) * truth


def least_found(
    planted: Path, directory: Path, metric: str, truth: float, *arguments: str, tolerance: float = 0.01
) -> float:
    """Return the least value of several runs: other processes can only lengthen an operation.

    Further runs only where the first was lengthened, and none may ever be shorter than what was planted. Where others took
    processor time in every run, the test is skipped.
    """
    least = least_waited = float("inf")
    for turn in range(TURNS):
        with waiting() as waited:
            outcome = run([planted, *arguments], directory / f"work-{turn}")
        assert outcome.exit_code == 0, outcome.stderr
        ((_, lines),) = outcome.of(metric).items()
        least = min(least, *(line["value"] for line in lines))
        least_waited = min(least_waited, *waited)
        if within(least, truth, tolerance):
            break
    if least > truth:
        skip_where_busy(within(least, truth, tolerance), least_waited)
    return least


def skip_where_busy(fits: bool, waited: float) -> None:
    """Skip a test whose figure does not fit because other processes took the processors."""
    if not fits and waited > BUSY:
        pytest.skip(f"machine too busy: processes waited for a processor {waited:.0%} of the time")


@contextmanager
def waiting() -> Iterator[list[float]]:
    """Give the share of time in which a process waited for a processor, or the hypervisor took one; 0 where unknown."""
    before, began_s = HOST.read(), time.monotonic()
    share: list[float] = []
    try:
        yield share
    finally:
        after, elapsed_s = HOST.read(), time.monotonic() - began_s
        lost_s = 0.0
        for key, seconds in (("psi_cpu_some_us", 1e-6), ("steal_s", 1.0)):
            first, last = before[key], after[key]
            if first is not None and last is not None:
                lost_s += (last - first) * seconds
        share.append(lost_s / elapsed_s)


def test_a_planted_duration_is_found_within_one_per_cent(planted: Path, tmp_path: Path) -> None:
    least = least_found(planted, tmp_path, "latency", 20000, "--kind", "spin", "--amount", "20000")
    assert within(least, 20000, 0.01)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="NOT TESTED: two processes need two CPUs")
def test_a_planted_duration_is_found_by_each_of_two_children(planted: Path, tmp_path: Path) -> None:
    arguments = ("--kind", "spin", "--amount", "20000", "--repetitions", "4", *SEVERAL)
    # The slower one of two that take every processor: what the machine itself does is in each interval, for seconds on end.
    least = least_found(planted, tmp_path, "latency_slowest", 20000, *arguments, tolerance=0.03)
    assert within(least, 20000, 0.03)


def test_twice_the_dependent_work_takes_twice_the_time(planted: Path, tmp_path: Path) -> None:
    least: dict[int, list[float]] = {200: [], 400: []}
    # In turns, so that a change of the processor's frequency falls on both.
    with waiting() as waited:
        for turn in range(3):
            for length, found in least.items():
                command = [planted, "--kind", "chain", "--amount", str(length)]
                outcome = run(command, tmp_path / f"work-{length}-{turn}")
                ((_, lines),) = outcome.series.items()
                found.append(min(line["value"] for line in lines))
    ratio = statistics.median(least[400]) / statistics.median(least[200])
    skip_where_busy(0.7 * 2 < ratio < 1.3 * 2, *waited)
    assert 0.7 * 2 < ratio < 1.3 * 2


def test_of_an_empty_loop_little_is_left_after_subtraction_or_no_number(
    planted: Path, tmp_path: Path
) -> None:
    shares = []
    with waiting() as waited:
        for turn in range(3):
            outcome = run([planted, "--kind", "empty"], tmp_path / f"work-{turn}")
            if outcome.exit_code == 0:
                ((_, lines),) = outcome.series.items()
                shares.append(min(line["value"] for line in lines) / outcome.info["loop_overhead_ns"])
            else:
                # Nothing, or less than nothing, was left: that is no number.
                assert outcome.series == {}
                assert re.search(r"\d+ ns are no more than the \d+ ns of the empty loop", outcome.stderr)
    # Without subtraction it would be all of it, every time.
    little = not shares or min(shares) < 0.5
    skip_where_busy(little, *waited)
    assert little


def test_work_that_the_compiler_dropped_is_an_error_and_no_number(planted: Path, tmp_path: Path) -> None:
    outcome = run([planted, "--kind", "nothing"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert outcome.series == {}
    assert "no work is done" in outcome.lines[-1]["error"]
    assert "no work is done" in outcome.stderr


# ---- how long, how often ----


def shortest_interval_ns(outcome: Run, metric: str = "latency") -> float:
    ((_, lines),) = outcome.of(metric).items()
    return min(line["value"] * line["operations"] for line in lines)


def assert_intervals_can_be_trusted(outcome: Run) -> None:
    info = outcome.info
    assert shortest_interval_ns(outcome) >= 0.9 * info["trusted_interval_ns"]
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
    assert shortest_interval_ns(run(command, tmp_path / "work")) >= 30_000_000


def test_several_children_are_timed_for_a_second_each(planted: Path, tmp_path: Path) -> None:
    command = [planted, "--kind=spin", "--amount=1000", "--repetitions=1", "--parallel=2"]
    outcome = run(command, tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    assert shortest_interval_ns(outcome, "latency_fastest") >= 0.99e9


def test_an_interval_of_several_that_cannot_be_long_enough_is_refused(
    lm_sources: Path, tmp_path: Path
) -> None:
    command = [lm_sources / "build/bw_file_rd", "--cache=cold", "--file=own", "--kib=64", "--parallel=2"]
    outcome = run(command, tmp_path / "work")
    assert outcome.exit_code == 1
    assert outcome.series == {}
    assert "of several processes, less than 100000000 ns says nothing; use --parallel 1" in outcome.stderr


def test_an_interval_of_several_shorter_than_a_time_slice_is_refused(planted: Path, tmp_path: Path) -> None:
    outcome = run([planted, "--parallel=2", "--interval-us=5000"], tmp_path / "work")
    assert outcome.exit_code == 2
    assert "longer than a time slice" in outcome.stderr


def test_people_are_told_the_median_its_quartiles_and_its_interval(planted: Path, tmp_path: Path) -> None:
    outcome = run([planted, "--kind", "spin", "--amount", "1000"], tmp_path / "work")
    ((_, lines),) = outcome.series.items()
    values = sorted(line["value"] for line in lines)
    told = re.search(
        r"latency (\S+) ns \(quartiles (\S+) and (\S+); 95 % interval (\S+) to (\S+)\), median of 11 rep",
        outcome.stdout,
    )
    assert told
    # Of 11 values the 2nd and the 10th: 2 x (1 + 11) / 2^11 = 1.2 % lie outside; the 3rd and the 9th would have 6.5 %.
    expected = [values[5], (values[2] + values[3]) / 2, (values[7] + values[8]) / 2, values[1], values[9]]
    assert [float(text) for text in told.groups()] == pytest.approx(expected, rel=1e-3)


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
