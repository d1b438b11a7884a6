"""Read how long the threads of a program were ready to run, and waited for a processor.

Source: Documentation/scheduler/sched-stats.rst of the kernel: the second number of /proc/PID/task/TID/schedstat, in ns. The kernel
forgets it when the thread ends.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from regatta.host.processes import descendants

_PROC = Path("/proc")
#: The threads are read one after the other. If that takes longer than this share of an iteration, its delay is not known.
_MOST_READING = 0.2


@dataclass
class Delays:
    """A reading of all threads."""

    #: thread -> for how long it waited since its start, ns
    by_thread: dict[int, int] = field(default_factory=dict)
    #: monotonic, ns
    began_ns: int = 0
    ended_ns: int = 0

    @property
    def at_ns(self) -> float:
        """Return the time of the reading."""
        return (self.began_ns + self.ended_ns) / 2


def why_not(proc: Path = _PROC) -> str:
    """Return why this kernel does not tell the delay, or ""."""
    if (proc / "self" / "schedstat").exists():
        return ""
    return "the kernel does not count it (CONFIG_SCHED_INFO)"


def delays_of(pid: int, proc: Path = _PROC) -> Delays:
    """Return the delays of all threads of a process and of its descendants. Threads that end meanwhile are absent."""
    found = Delays(began_ns=time.monotonic_ns())
    for process in (pid, *descendants(pid)):
        try:
            threads = os.listdir(proc / str(process) / "task")
        except OSError:
            continue
        for thread in threads:
            try:
                with open(f"{proc}/{process}/task/{thread}/schedstat", "rb") as file:
                    found.by_thread[int(thread)] = int(file.read().split()[1])
            except (OSError, ValueError, IndexError):
                continue
    found.ended_ns = time.monotonic_ns()
    return found


def waiting_between(before: Delays, after: Delays, iteration_s: float) -> tuple[float | None, str]:
    """Return how many threads waited on average between two readings, or None and why.

    Args:
        before, after: of `delays_of`.
        iteration_s: time of the iteration, which is between the readings.
    """
    if not after.by_thread:
        return None, "the process was not found"
    ended = len(before.by_thread.keys() - after.by_thread.keys())
    if ended:
        return None, f"{ended} threads ended in an iteration, and the kernel forgot their delay"
    reading_s = (before.ended_ns - before.began_ns + after.ended_ns - after.began_ns) / 1e9
    if reading_s > _MOST_READING * iteration_s:
        told = f"reading {len(after.by_thread)} threads took {reading_s:.2g} s beside an iteration of {iteration_s:.2g} s"
        return None, told
    waited_ns = sum(delay - before.by_thread.get(thread, 0) for thread, delay in after.by_thread.items())
    return waited_ns / (after.at_ns - before.at_ns), ""
