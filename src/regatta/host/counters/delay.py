"""Read how long the threads of a program were ready to run, and waited for a processor.

Source: Documentation/scheduler/sched-stats.rst of the kernel: the second number of /proc/PID/task/TID/schedstat, in ns. The kernel
forgets it when the thread ends.
"""

from __future__ import annotations

import os
from pathlib import Path

from regatta.host.processes import descendants

_PROC = Path("/proc")


def why_not(proc: Path = _PROC) -> str:
    """Return why this kernel does not tell the delay, or ""."""
    if (proc / "self" / "schedstat").exists():
        return ""
    return "the kernel does not count it (CONFIG_SCHED_INFO)"


def delays_of(pid: int, proc: Path = _PROC) -> dict[int, int]:
    """Return thread -> its delay in ns, for a process and its descendants. Threads that end meanwhile are absent."""
    found: dict[int, int] = {}
    for process in (pid, *descendants(pid)):
        try:
            threads = os.listdir(proc / str(process) / "task")
        except OSError:
            continue
        for thread in threads:
            try:
                with open(f"{proc}/{process}/task/{thread}/schedstat", "rb") as file:
                    found[int(thread)] = int(file.read().split()[1])
            except (OSError, ValueError, IndexError):
                continue
    return found


def delay_between(before: dict[int, int], after: dict[int, int]) -> tuple[int | None, str]:
    """Return the delay of all threads between two readings in ns, or None and why.

    Args:
        before, after: of `delays_of`.
    """
    if not after:
        return None, "the process was not found"
    ended = len(before.keys() - after.keys())
    if ended:
        return None, f"{ended} threads ended in an iteration, and the kernel forgot their delay"
    return sum(delay - before.get(thread, 0) for thread, delay in after.items()), ""
