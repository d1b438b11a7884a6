"""Latency of `regatta --version` and `regatta run`, and CPU use while a process is measured."""

from __future__ import annotations

import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cost import Cost, cost_of
from experiments import BIN, REGATTA, Unfit, environment, records, timed, write_spec
from rows import HYPERFINE_MISSING, Row, say

_PATIENCE_S = 120.0
_SETTLE_S = 0.25
#: The measured process outlasts the window, however late this process sees it, and is then killed.
_SLEEP = "250"

_SNAKEFILE = """\
rule start:
    output: "started"
    shell: ": > {output}"
"""


def measure_version(place: Path, quick: bool) -> Row:
    """Return the row on `regatta --version`."""
    repetitions = 3 if quick else 21
    say(f"regatta --version: {repetitions} times")
    ours, peers = [], []
    for _ in range(repetitions):
        peers.append(timed(place, [sys.executable, "-c", "pass"]))
        ours.append(timed(place, [REGATTA, "--version"]))
    return Row(
        what="regatta --version",
        unit="s",
        ours=statistics.median(ours),
        peer=statistics.median(peers),
        peer_name="python -c pass",
        goal="at most",
        limit=0.15,
        holds=statistics.median(ours) <= 0.15,
    )


def measure_first_run(place: Path, quick: bool) -> list[Row]:
    """Return rows on `regatta run` of ten times `true`, not yet planned, and on `regatta analyze` of its records.

    The run keeps the first screen, which `regatta analyze` then shows. Without it, all is computed again.
    """
    repetitions = 1 if quick else 5
    say(f"regatta run of ten times `true`, compared with Snakemake alone: {repetitions} times")
    libraries = [sys.executable, "-c", "import duckdb, numpy, scipy.special"]
    runs, answers, anew, peers, imports = [], [], [], [], []
    for number in range(repetitions):
        spec = write_spec(place, f"first{number}", ["true"], 10, modifiers=1)
        runs.append(cost_of(place, [REGATTA, "run", str(spec), "--results", "results"]))
        answers.append(cost_of(place, [REGATTA, "analyze", spec.stem]))
        shutil.rmtree(place / "results" / spec.stem / "store" / "screen")
        anew.append(cost_of(place, [REGATTA, "analyze", spec.stem]))
        peers.append(_snakemake_alone(place))
        imports.append(cost_of(place, libraries))
    what = "regatta run of ten times true, first plan"
    alone = "Snakemake with one empty rule"
    return [
        _limited(f"{what}: wall time", [c.elapsed_s for c in runs], 3.5, [c.elapsed_s for c in peers], alone),
        _limited(f"{what}: processor time", [c.cpu_s for c in runs], 3.5, [c.cpu_s for c in peers], alone),
        _limited(
            "regatta analyze of its records",
            [c.elapsed_s for c in answers],
            0.5,
            [c.elapsed_s for c in imports],
            "python that imports duckdb, numpy and scipy.special",
        ),
        _limited(
            "regatta analyze of its records, computed again",
            [c.elapsed_s for c in anew],
            None,
            [c.elapsed_s for c in imports],
            "python that imports duckdb, numpy and scipy.special",
        ),
    ]


def _limited(what: str, values: list[float], limit: float | None, peers: list[float], peer_name: str) -> Row:
    """Return the row of a time in s; `limit`: its goal, None without one."""
    ours = statistics.median(values)
    return Row(
        what=what,
        unit="s",
        ours=ours,
        peer=statistics.median(peers),
        peer_name=peer_name,
        goal=None if limit is None else "at most",
        limit=limit,
        holds=None if limit is None else ours <= limit,
        details={"each": [round(value, 3) for value in values]},
    )


@dataclass
class _Start:
    """One `regatta run` of a planned experiment."""

    until_measuring_s: float
    #: CPU of the runner, and of the whole `regatta run`, in % of a core while a process is measured
    runner_percent: float
    all_percent: float


def measure_run(place: Path, quick: bool) -> list[Row]:
    """Return rows on the start of `regatta run`, and on CPU use during an invocation."""
    repetitions, window_s = (1, 0.5) if quick else (5, 2.5)
    spec = write_spec(place, "run", ["sleep", _SLEEP], 2, modifiers=1, rounds_per_segment=1)
    say("planning an experiment")
    with _running(place, spec):
        pass  # now Snakemake considers everything before measuring done
    say(f"regatta run on a planned experiment, compared with Snakemake alone: {repetitions} times")
    starts, peers = [], []
    for _ in range(repetitions):
        starts.append(_start(place, spec, window_s))
        peers.append(_snakemake_start(place))
    until_s = [start.until_measuring_s for start in starts]
    peer_percent, peer_name = _hyperfine_while_running(place, window_s)
    runner = statistics.median(start.runner_percent for start in starts)
    return [
        Row(
            what="regatta run, planned, until it measures",
            unit="s",
            ours=statistics.median(until_s),
            peer=statistics.median(peers),
            peer_name="Snakemake with one empty rule",
            goal="at most",
            limit=3.0,
            holds=statistics.median(until_s) <= 3.0,
            details={"each": [round(value, 3) for value in until_s]},
        ),
        Row(
            what="CPU of the runner while an invocation runs",
            unit="% of a core",
            ours=runner,
            peer=peer_percent,
            peer_name=peer_name,
            goal="below",
            limit=0.1,
            holds=runner < 0.1,
            details={"window_s": window_s},
        ),
        Row(
            what="the same with Snakemake and the progress bar",
            unit="% of a core",
            ours=statistics.median(start.all_percent for start in starts),
            peer=peer_percent,
            peer_name=peer_name,
            goal=None,
            limit=None,
            holds=None,
        ),
    ]


@contextmanager
def _running(place: Path, spec: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Yield a `regatta run` that measures from the start, and its measured process; stop it afterwards."""
    for measured in ("journal", "receipts/local"):
        shutil.rmtree(place / "results" / spec.stem / measured, ignore_errors=True)
    process = subprocess.Popen(
        [REGATTA, "run", str(spec), "--results", "results"],
        cwd=place,
        env=environment(place),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(process, lambda: _find_sleeper(process.pid))
        yield process, _find_sleeper(process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def _start(place: Path, spec: Path, window_s: float) -> _Start:
    # The clock of the records: CLOCK_MONOTONIC is system-wide.
    start_ns = time.monotonic_ns()
    with _running(place, spec) as (process, sleeper):
        runner = _parent(sleeper)
        own = [pid for pid in _tree(process.pid) if pid != sleeper]
        time.sleep(_SETTLE_S)
        runner_percent, all_percent = _cpu_percent([[runner], own], window_s)
        folder = place / "results" / spec.stem
        os.kill(sleeper, signal.SIGKILL)
        _wait_for(process, lambda: records(folder, 0))
    first = records(folder, 0)[0]
    return _Start((first["started_monotonic_ns"] - start_ns) / 1e9, runner_percent, all_percent)


def _wait_for(process: subprocess.Popen[bytes], look: Callable[[], object]) -> None:
    """Poll until the condition holds."""
    deadline = time.monotonic() + _PATIENCE_S
    while not look():
        # Its output exists before it ends.
        if (process.poll() is not None and not look()) or time.monotonic() > deadline:
            raise Unfit(f"{process.args!r} has measured nothing in {_PATIENCE_S:g} s, or ended before")
        time.sleep(0.02)


def _snakemake_start(place: Path) -> float:
    """Return the time from starting Snakemake alone to the start of the job of a one-rule workflow."""
    start_ns = time.time_ns()
    _snakemake_alone(place)
    return ((place / "snakemake" / "started").stat().st_mtime_ns - start_ns) / 1e9


def _snakemake_alone(place: Path) -> Cost:
    """Return the cost of Snakemake with a one-rule workflow."""
    folder = place / "snakemake"
    folder.mkdir(exist_ok=True)
    (folder / "Snakefile").write_text(_SNAKEFILE)
    (folder / "started").unlink(missing_ok=True)
    snakefile = str(folder / "Snakefile")
    command = [str(BIN / "snakemake"), "--cores", "1", "--directory", str(folder), "--snakefile", snakefile]
    return cost_of(place, command)


def _hyperfine_while_running(place: Path, window_s: float) -> tuple[float | None, str]:
    if shutil.which("hyperfine") is None:
        return None, HYPERFINE_MISSING
    command = ["hyperfine", "-N", "--style", "none", "--runs", "1", f"sleep {_SLEEP}"]
    process = subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _wait_for(process, lambda: _find_sleeper(process.pid))
    time.sleep(_SETTLE_S)
    (percent,) = _cpu_percent([[process.pid]], window_s)
    os.kill(_find_sleeper(process.pid), signal.SIGKILL)
    process.wait()
    return percent, "hyperfine -N"


def _cpu_percent(groups: list[list[int]], window_s: float) -> list[float]:
    """Return the CPU time of groups of processes over a window, in % of a core, without processes that end in it."""
    start = time.monotonic()
    before = [[_cpu_s(pid) for pid in group] for group in groups]
    time.sleep(window_s)
    after = [[_cpu_s(pid) for pid in group] for group in groups]
    elapsed_s = time.monotonic() - start
    spent_s = [[b - a for a, b in zip(*pair, strict=True)] for pair in zip(before, after, strict=True)]
    return [100 * sum(each for each in group if not math.isnan(each)) / elapsed_s for group in spent_s]


def _cpu_s(pid: int) -> float:
    """Return the CPU time of all threads of another process in ns resolution, from its clock, as in clock_getcpuclockid(3).

    NaN if the process has ended.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return math.nan


def _tree(root: int) -> list[int]:
    """Return a process and its descendants."""
    found = [root]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*"):
            with suppress(OSError):  # it has ended meanwhile
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def _find_sleeper(root: int) -> int:
    """Return the `sleep` among the descendants of a process; 0 without one."""
    try:
        for pid in _tree(root):
            if Path(f"/proc/{pid}/comm").read_text() == "sleep\n":
                return pid
    except OSError:
        pass  # a process ended meanwhile
    return 0


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
