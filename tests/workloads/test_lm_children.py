"""Children of the timing harness: they run in step, a dead one is an error, none outlives its parent, each has its place."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from helpers.marked_processes import processes_with
from helpers.waiting import wait_until as wait_until_or_fail
from helpers.workloads.lm_runs import PATIENCE_S, Interval, Run, intervals_of, run

# ---- children in step ----


def logged(program: Path, directory: Path, *arguments: str) -> tuple[Run, list[list[Interval]]]:
    """A run of three children, the last of which is late, and what each child did by its own log.

    It is late by three intervals of the first one, whatever they take: where that does not wait, two of them are timed.
    """
    command = [program, "--kind=spin", "--amount=20000", "--late-by=3", "--log=log", "--parallel=3"]
    outcome = run([*command, "--interval-us=100000", "--repetitions=2", *arguments], directory / "work")
    return outcome, [intervals_of(log) for log in sorted((directory / "work").glob("log.*"))]


def assert_in_step(children: Sequence[Sequence[Interval]]) -> None:
    """While any child was timed, each had begun before and went on after."""
    assert len(children) == 3
    assert all(children), "each has run"
    for child in children:
        size = max(interval.operations for interval in child)
        timed = [interval for interval in child if interval.operations == size]
        for other in children:
            assert other[0].before.clock_ns <= timed[0].start.clock_ns
            assert other[-1].after.clock_ns >= timed[-1].end.clock_ns


def test_every_child_runs_while_any_is_timed(planted: Path, tmp_path: Path) -> None:
    outcome, children = logged(planted, tmp_path)
    assert outcome.exit_code == 0, outcome.stderr
    assert_in_step(children)


def test_a_child_timed_before_all_are_ready_is_caught_by_the_harness_and_by_the_log(
    mutant: Callable[[str, str, str], Path], tmp_path: Path
) -> None:
    wrong = mutant("child.c", "run_until(measuring, shared, LM_PHASE_GO)", "0")
    outcome, children = logged(wrong, tmp_path, "--repetitions=10")
    assert outcome.exit_code == 1
    # The second where one was done before the late one was ready.
    early = "timed while another child" in outcome.stderr
    assert early or re.findall(r"'(.)'", outcome.stderr) == ["r", "d"], outcome.stderr
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
    assert re.findall(r"'(.)'", outcome.stderr) == ["d", "r"], "the message expected, and the one received"


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
        ("die", "by signal 9 (Killed) before"),
        ("leave", "exit code 7 before"),
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


def wait_until(condition: Callable[[], bool]) -> None:
    wait_until_or_fail(condition, "the processes to be as they should", patience_s=PATIENCE_S)


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
    process.wait(timeout=PATIENCE_S)
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
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert f"stopped by signal {number:d}" in stderr
    assert list(tmp_path.iterdir()) == []
    wait_until(lambda: processes_with(marker) == [])


def has_one_end_of_each_pipe(process: int) -> bool:
    opened = [str(end.readlink()) for end in Path(f"/proc/{process}/fd").iterdir()]
    pipes = [name for name in opened if name.startswith("pipe:")]
    return len(pipes) == len(set(pipes))


def test_the_parent_needs_no_more_for_more_children(planted: Path) -> None:
    needed = []
    for parallel in (2, 9):
        marker = f"lm-{os.getpid()}-{parallel}"
        process = started(planted, marker, parallel)
        try:
            # The last child is there before the parent has closed the ends of its pipes that are the children's.
            wait_until(lambda process=process: has_one_end_of_each_pipe(process.pid))
            needed.append(len(list(Path(f"/proc/{process.pid}/fd").iterdir())))
        finally:
            process.kill()
            process.wait(timeout=PATIENCE_S)
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
        process.wait(timeout=PATIENCE_S)
    wait_until(lambda: processes_with(marker) == [])
