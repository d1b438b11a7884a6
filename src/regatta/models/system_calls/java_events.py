"""Events of a JVM other than calls, counted by an agent (benchmarks/agent): classes, compilations, exceptions, monitors, threads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regatta.host.errors import RegattaError
from regatta.host.ready.builds import build
from regatta.host.values.experiment import Build
from regatta.models.system_calls.java import check_lists, counted_windows, read_of_jvm
from regatta.models.vectors.calls import JVM_WORK, Seen, Tally
from regatta.spec.home import find_home

_BUILD = Build(
    "events",
    "benchmarks/agent",
    ("make",),
    {"agent": "build/libregatta_events.so"},
    ("make", "cc", "javac"),
)
_STARTUP = "startup"
_CPU = "thread_cpu_ns"
#: threads of the JVM itself, such as the one that runs finalizers, add up to this to the one thread of an application
_ONE = 1.05


@dataclass(frozen=True)
class Events:
    """The file of the agent; benchmarks/java/README.md describes its keys. All lists but `missing` are over `windows`."""

    events: int
    java: str
    windows: list[str]
    #: ends of the windows, in ns since 1970
    ended_ns: list[int]
    counts: dict[str, list[int]]
    threads: dict[str, dict[str, int]]
    missing: list[str]


def events_agent() -> Path:
    """Build the agent, unless it is cached.

    Raises:
        HostError: make, a C compiler or the headers of a JDK are missing, or the build fails.
    """
    return Path(build(_BUILD, find_home())["agent"].path)


def with_events(
    command: Sequence[str], agent: Path, events: Path, *, windows_only: bool = False
) -> list[str]:
    """Return the command of a JVM with the agent as its first option.

    Args:
        command: `java` or another launcher that accepts the options of a JVM, with its arguments.
        agent: the library.
        events: file that the JVM writes when it ends.
        windows_only: write the names and ends of the windows, and count nothing.
    """
    option = f"windows,{events}" if windows_only else str(events)
    return [command[0], f"-agentpath:{agent}={option}", *command[1:]]


def read_events(path: Path) -> Events:
    """Read the file of the agent.

    Raises:
        RegattaError: the JVM has not written it, or it has another shape.
    """
    events = read_of_jvm(Events, path, "events")
    check_lists("events", events.events, [events.ended_ns, *events.counts.values()], events.windows)
    return events


def counted_of(events: Events, warmup: int, harness: bool, startup: bool = False) -> Sequence[int]:
    """Return the places of the counted windows: the iterations after warm-up, the startup before them, or the whole run.

    Args:
        events: of one run.
        warmup: iterations to leave out, from the first.
        harness: whether the program has iterations.
        startup: as for `counted_windows`.

    Raises:
        RegattaError: as `counted_windows`, or the JVM did not report the iterations of a program that has some.
    """
    if harness and _STARTUP not in events.windows:
        missing = ", ".join(events.missing) or "no iteration has started"
        raise RegattaError("events", "iterations as windows", missing, "run without a debugger")
    return counted_windows(events.windows, warmup, startup)


def with_work_of_jvm(tally: Tally, events: Events, counted: Sequence[int]) -> Tally:
    """Return the calls with the work of the JVM itself in some windows: its rules are in the same table.

    Args:
        tally: the calls of the application in these windows.
        events: of one run; a kind that the JVM does not report is left out.
        counted: the windows.
    """
    work = {
        Seen(name): (sum(events.counts[name][at] for at in counted), 0)
        for name in JVM_WORK
        if name in events.counts
    }
    return replace(tally, seen={**tally.seen, **work})


def intervals_ns(events: Events, counted: Sequence[int]) -> list[tuple[int, int]]:
    """Return start and end of windows in ns since 1970; the first starts at 0."""
    starts = [0, *events.ended_ns]
    return [(starts[at], events.ended_ns[at]) for at in counted]


def parallelism_of(
    events: Events, counted: Sequence[int], elapsed_ns: float, pause_ns: float
) -> float | None:
    """Return how many threads of the application worked at the same time, at least 1.

    It is their processor time divided by the elapsed time without pauses. A single thread that waits counts as 1. Threads of the
    compilers and the collector are not in it.

    Args:
        events: of one run.
        counted: its counted windows.
        elapsed_ns: mean elapsed time of such a window.
        pause_ns: mean time in it in which the collector stopped all threads.

    Returns:
        None if the JVM does not report the time of threads.
    """
    spent = events.counts.get(_CPU)
    if spent is None or elapsed_ns <= pause_ns:
        return None
    threads = math.fsum(spent[at] for at in counted) / len(counted) / (elapsed_ns - pause_ns)
    return threads if threads > _ONE else 1.0


def words_of(events: Events, counted: Sequence[int], units: int) -> dict[str, str]:
    """Return the provenance: events per unit of work in the counted windows, and those before the first iteration.

    A kind that the JVM cannot count is left out, and the missing capability is named.
    """
    means = {name: math.fsum(of[at] for at in counted) / units for name, of in events.counts.items()}
    told = {"events": _listed(means), "events_missing": ", ".join(events.missing)}
    if _STARTUP in events.windows:
        at = events.windows.index(_STARTUP)
        told["events_startup"] = _listed({name: of[at] for name, of in events.counts.items()})
    return told


def _listed(counts: dict[str, float]) -> str:
    return ", ".join(f"{name} {round(count, 3):.12g}" for name, count in counts.items())
