"""The timing harness: known costs are found, children run in step, and a harness that is wrong is caught."""

from __future__ import annotations

import os
import re
import shutil
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from lm_runs import ROOT, Run, run

OWN = Path(__file__).with_name("planted.c")
#: longer than any time slice, and short enough for a test
SEVERAL = ("--parallel", "2", "--interval-us", "100000")
#: a neighbour on the second processor lengthens all of a run
TURNS = 20


def compile_against(sources: Path, source: Path, program: Path, *flags: str) -> Path:
    objects = sorted((sources / "build/harness").glob("*.o"))
    command = ["gcc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I.", *flags, "-o", program, source]
    subprocess.run([*command, *objects, "-pthread", "-lm"], cwd=sources, check=True)
    return program


@pytest.fixture(scope="module")
def planted(lm_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_against(lm_sources, OWN, tmp_path_factory.mktemp("planted") / "planted")


@pytest.fixture(scope="module")
def mutant(lm_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str, str], Path]:
    """`planted` on a harness in one file of which one text is another."""

    def make(file: str, text: str, other: str) -> Path:
        copy = tmp_path_factory.mktemp("mutant") / "lm"
        shutil.copytree(lm_sources / "harness", copy / "harness")
        source = copy / "harness" / file
        original = source.read_text()
        assert original.count(text) == 1, f"{file} does not hold {text!r} once"
        source.write_text(original.replace(text, other))
        flags = ["-std=c11", "-O2", "-I."]
        files = sorted((copy / "harness").glob("*.c"))
        subprocess.run(
            ["gcc", *flags, "-o", copy / "planted", OWN, *files, "-pthread", "-lm"], cwd=copy, check=True
        )
        return copy / "planted"

    return make


# ---- a planted cost is found ----


def within(value: float, truth: float, tolerance: float) -> bool:
    return (1 - tolerance) * truth < value < (1 + tolerance) * truth


def least_found(planted: Path, directory: Path, metric: str, truth: float, *arguments: str) -> float:
    """The least value of several runs: whoever else uses the processor can only lengthen an operation.

    Further runs only where the first was lengthened, and none may ever be shorter than what was planted.
    """
    least = float("inf")
    for turn in range(TURNS):
        outcome = run([planted, *arguments], directory / f"work-{turn}")
        assert outcome.exit_code == 0, outcome.stderr
        ((_, lines),) = outcome.of(metric).items()
        least = min(least, *(line["value"] for line in lines))
        if within(least, truth, 0.01):
            break
    return least


def test_a_planted_duration_is_found_within_one_per_cent(planted: Path, tmp_path: Path) -> None:
    least = least_found(planted, tmp_path, "latency", 20000, "--kind", "spin", "--amount", "20000")
    assert within(least, 20000, 0.01)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="NOT TESTED: two processes need two CPUs")
def test_a_planted_duration_is_found_by_each_of_two_children(planted: Path, tmp_path: Path) -> None:
    arguments = ("--kind", "spin", "--amount", "20000", "--repetitions", "4", *SEVERAL)
    least = least_found(planted, tmp_path, "latency_slowest", 20000, *arguments)
    assert within(least, 20000, 0.01)


def test_twice_the_dependent_work_takes_twice_the_time(planted: Path, tmp_path: Path) -> None:
    least: dict[int, list[float]] = {200: [], 400: []}
    # In turns, so that a change of the processor's frequency falls on both.
    for turn in range(3):
        for length, found in least.items():
            command = [planted, "--kind", "chain", "--amount", str(length)]
            outcome = run(command, tmp_path / f"work-{length}-{turn}")
            ((_, lines),) = outcome.series.items()
            found.append(min(line["value"] for line in lines))
    ratio = statistics.median(least[400]) / statistics.median(least[200])
    assert 0.7 * 2 < ratio < 1.3 * 2


def test_an_empty_loop_costs_less_than_half_a_nanosecond_after_subtraction(
    planted: Path, tmp_path: Path
) -> None:
    outcome = run([planted, "--kind", "empty"], tmp_path / "work")
    if outcome.exit_code == 0:
        ((_, lines),) = outcome.series.items()
        least = min(line["value"] for line in lines)
        assert least < 0.5
        # Without subtraction it would be all of it.
        assert least < 0.5 * outcome.info["loop_overhead_ns"]
    else:
        # Nothing, or less than nothing, was left: that is no number.
        assert outcome.series == {}
        assert re.search(r"\d+ ns are no more than the \d+ ns of the empty loop", outcome.stderr)


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


# ---- children in step ----


@dataclass(frozen=True)
class Interval:
    start_ns: int
    end_ns: int
    operations: int


def intervals_of(log: Path) -> list[Interval]:
    return [Interval(*map(int, line.split())) for line in log.read_text().splitlines()]


def logged(program: Path, directory: Path, *arguments: str) -> tuple[Run, list[list[Interval]]]:
    """A run of three children, the last of which is 200 ms late, and what each child did by its own log."""
    command = [program, "--kind=spin", "--amount=20000", "--late-ms=200", "--log=log", "--parallel=3"]
    outcome = run([*command, "--interval-us=100000", "--repetitions=2", *arguments], directory / "work")
    return outcome, [intervals_of(log) for log in sorted((directory / "work").glob("log.*"))]


def assert_in_step(children: Sequence[Sequence[Interval]]) -> None:
    """While any child was timed, each had begun before and went on after."""
    assert len(children) == 3
    for child in children:
        size = max(interval.operations for interval in child)
        timed = [interval for interval in child if interval.operations == size]
        for other in children:
            assert other[0].start_ns <= timed[0].start_ns
            assert other[-1].end_ns >= timed[-1].end_ns


def test_every_child_runs_while_any_is_timed(planted: Path, tmp_path: Path) -> None:
    outcome, children = logged(planted, tmp_path)
    assert outcome.exit_code == 0, outcome.stderr
    assert_in_step(children)


def test_a_child_timed_before_all_are_ready_is_caught_by_the_harness_and_by_the_log(
    mutant: Callable[[str, str, str], Path], tmp_path: Path
) -> None:
    wrong = mutant("child.c", "run_until(measuring, shared, LM_PHASE_GO)", "0")
    outcome, children = logged(wrong, tmp_path)
    assert outcome.exit_code == 1
    assert "a child was timed while another did not run the benchmark" in outcome.stderr
    with pytest.raises(AssertionError):
        assert_in_step(children)


def test_a_child_idle_once_its_own_timing_is_done_is_caught_by_the_log(
    mutant: Callable[[str, str, str], Path], tmp_path: Path
) -> None:
    idle = "({ while (atomic_load(&shared->phase) < LM_PHASE_RESULT) { } 0; })"
    outcome, children = logged(
        mutant("child.c", "run_until(measuring, shared, LM_PHASE_RESULT)", idle), tmp_path
    )
    assert outcome.exit_code == 0, outcome.stderr
    with pytest.raises(AssertionError):
        assert_in_step(children)


def test_a_parent_that_does_not_wait_for_the_late_child_is_caught(
    mutant: Callable[[str, str, str], Path], tmp_path: Path
) -> None:
    wrong = mutant("children.c", "if (gather(family, LM_READY) != 0) {", "if (false) {")
    outcome, _ = logged(wrong, tmp_path)
    assert outcome.exit_code == 1
    assert "expected the message 'd' from a child, got 'r'" in outcome.stderr


def test_the_fastest_the_slowest_and_the_middle_child_are_reported(planted: Path, tmp_path: Path) -> None:
    command = [planted, "--kind=spin", "--amount=20000", "--parallel=3", "--interval-us=100000"]
    outcome = run([*command, "--repetitions=2"], tmp_path / "work")
    key = (("parallel", 3),)
    middle, fastest, slowest = (
        [line["value"] for line in outcome.of(metric)[key]]
        for metric in ("latency", "latency_fastest", "latency_slowest")
    )
    for low, value, high in zip(fastest, middle, slowest, strict=True):
        assert low <= value <= high


# ---- a dead child is an error with its cause, not a hang ----


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("fail", "benchmark: Input/output error"),
        ("die", "it was killed by signal 9 (Killed) before it was let go"),
        ("leave", "it ended with exit code 7 before it was let go"),
    ],
)
@pytest.mark.parametrize("parallel", [1, 3])
def test_a_child_that_ends_early_is_an_error_with_its_cause(
    planted: Path, tmp_path: Path, kind: str, cause: str, parallel: int
) -> None:
    command = [planted, f"--kind={kind}", "--amount=100", f"--parallel={parallel}"]
    outcome = run([*command, *(["--interval-us=100000"] if parallel > 1 else [])], tmp_path / "work")
    assert outcome.exit_code == 1
    assert not any("metric" in line for line in outcome.lines)
    assert cause in outcome.stderr
    assert outcome.lines[-1]["error"] in outcome.stderr
    # What one process alone needs is measured first, as its own child 1 of 1, which never is the last of three.
    assert ("child 3 of 3" in outcome.stderr) == (parallel == 3)
    # The others cleaned up.
    assert outcome.stdout.count("opened 1 closed 1") >= parallel - (kind != "fail")


def processes_with(marker: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def started(planted: Path, marker: str, parallel: int, *arguments: str) -> subprocess.Popen[str]:
    """A long measurement, once all its children run."""
    command = [planted, "--kind=spin", "--amount=1000", f"--parallel={parallel}", "--interval-us=30000000"]
    process = subprocess.Popen(
        [*command, *arguments], env={"MARKER": marker}, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_until(lambda: len(processes_with(marker)) == parallel + 1)
    return process


def test_children_do_not_outlive_a_killed_parent(planted: Path) -> None:
    marker = f"lm-{os.getpid()}-killed"
    process = started(planted, marker, 3)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=10)
    wait_until(lambda: processes_with(marker) == [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_program_that_is_stopped_cleans_up(lm_sources: Path, tmp_path: Path, number: int) -> None:
    marker = f"lm-{os.getpid()}-stopped-{number}"
    process = subprocess.Popen(
        [lm_sources / "build/lat_syscall", "--call=open_close", "--repetitions=1000000"],
        cwd=tmp_path, env={"MARKER": marker}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    wait_until(lambda: len(processes_with(marker)) == 2)
    assert len(list(tmp_path.iterdir())) == 1
    process.send_signal(number)
    _, stderr = process.communicate(timeout=10)
    assert process.returncode == 1
    assert f"stopped by signal {number:d}" in stderr
    assert list(tmp_path.iterdir()) == []
    wait_until(lambda: processes_with(marker) == [])


def test_the_parent_needs_no_more_for_more_children(planted: Path) -> None:
    needed = []
    for parallel in (2, 9):
        marker = f"lm-{os.getpid()}-{parallel}"
        process = started(planted, marker, parallel)
        try:
            needed.append(len(list(Path(f"/proc/{process.pid}/fd").iterdir())))
        finally:
            process.kill()
            process.wait(timeout=10)
        wait_until(lambda marker=marker: processes_with(marker) == [])
    assert needed[0] == needed[1]


# ---- placement ----


def allowed_of(process: int) -> str:
    text = Path(f"/proc/{process}/status").read_text()
    return next(line.split()[1] for line in text.splitlines() if line.startswith("Cpus_allowed_list"))


@pytest.mark.parametrize("placement", ["free", "compact", "scattered"])
def test_children_run_where_they_are_placed(planted: Path, placement: str) -> None:
    marker = f"lm-{os.getpid()}-{placement}"
    process = started(planted, marker, 2, f"--placement={placement}")
    try:
        children = [number for number in processes_with(marker) if number != process.pid]
        if placement == "free":
            assert {allowed_of(child) for child in children} == {allowed_of(process.pid)}
        else:
            available = len(os.sched_getaffinity(0))
            wait_until(
                lambda: (
                    len({allowed_of(child) for child in children}) == min(2, available)
                    and all(allowed_of(child).isdigit() for child in children)
                )
            )
    finally:
        process.kill()
        process.wait(timeout=10)
    wait_until(lambda: processes_with(marker) == [])


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
