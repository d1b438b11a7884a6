"""Runs of a JVM with the heap profiler, and without it to measure its overhead."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regatta.models.gc.heap_profile import HeapProfile, read_heap_profile, with_heap_profile
from regatta.models.system_calls.application import ratio_of
from regatta.models.system_calls.java import iteration_ns, reporting_to
from regatta.models.system_calls.java_events import events_agent
from regatta.models.system_calls.planned_command import PlannedCommand
from regatta.models.system_calls.runs import Figures, run_command
from regatta.models.system_calls.tools import NoTracer
from regatta.models.vectors.values import Value


@dataclass(frozen=True)
class HeapRuns:
    """A command, and how it is profiled."""

    command: Sequence[str]
    #: mean bytes between sampled objects; 0: every object
    interval: int
    #: allocated bytes between checkpoints
    every: int
    warmup: int
    #: runs with the profiler, at least 1
    runs: int
    #: runs without it, alternating with the first runs with it, of which there are then at least as many
    pairs: int
    level: float
    #: of the experiment's cell that `command` is from
    cell: PlannedCommand | None = None


def profile_heap(runs: HeapRuns) -> tuple[Sequence[HeapProfile], Value | None]:
    """Run a command with the profiler, the first runs alternating with runs without it if there are pairs.

    Returns:
        The profiles, and the ratio of the times with and without the profiler. The time is that of the iterations after warm-up,
        or of the whole run.

    Raises:
        RegattaError: the command fails, or the JVM writes no profile.
    """
    if runs.cell is not None:
        runs.cell.check_files()
    agent = events_agent()
    with_ns: list[float] = []
    without_ns: list[float] = []
    profiles: list[HeapProfile] = []
    for number in range(max(runs.runs, runs.pairs)):
        # Alternate the order, so that drift affects both sides equally.
        for profiled in ((False, True), (True, False))[number % 2]:
            if profiled:
                with_ns.append(_run(runs, agent, profiles))
            elif number < runs.pairs:
                without_ns.append(_run(runs, None, profiles))
    overhead = ratio_of(with_ns[: runs.pairs], without_ns, runs.level) if runs.pairs else None
    return profiles, overhead


def _run(runs: HeapRuns, agent: Path | None, profiles: list[HeapProfile]) -> float:
    """Run the command, with the profiler if there is an agent. Return its time in ns."""
    with tempfile.TemporaryDirectory() as folder:
        file, results = Path(folder) / "heap.json", Path(folder) / "results.jsonl"
        command = runs.command
        if agent is not None:
            command = with_heap_profile(
                command, agent, file, interval=runs.interval, every=runs.every, warmup=runs.warmup
            )
        if runs.cell is None:
            command = reporting_to(command, results)
        else:
            command = [*runs.cell.words(Path(folder), results), *command]
        run, _ = run_command(command, NoTracer(), Figures(1.0))
        if agent is not None:
            profiles.append(read_heap_profile(file))
        return iteration_ns(results, runs.warmup) or run.elapsed_ns
