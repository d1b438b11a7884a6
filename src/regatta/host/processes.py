"""What the kernel tells of a process. Its start time with its number is its identity: a number alone may be reused."""

from __future__ import annotations

import contextlib
import os
import signal
import time

#: places in `stat_fields`: the state; start time in clock ticks since boot
STATE, START = 0, 19
_ORPHANS_S = 10.0


def stat_fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name, which may contain anything; empty when the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode("ascii", "replace").split()
    except OSError:
        return []


def process_start(pid: int) -> int | None:
    """Start time of a process in ticks since boot.

    None when it is gone, or is dead and only waits for a parent that may never ask about it.
    """
    fields = stat_fields(pid)
    return int(fields[START]) if len(fields) > START and fields[STATE] not in "ZX" else None


def end_orphans(results_file: str) -> int:
    """Kill processes whose REGATTA_RESULTS is this file: they outlived a runner that was killed.

    The host's lock must be held, so that no living runner's processes are among them.

    Returns:
        How many were killed.
    """
    wanted = b"REGATTA_RESULTS=" + os.fsencode(results_file)
    killed: set[int] = set()
    deadline = time.monotonic() + _ORPHANS_S
    # They may fork while they are looked for, and a killed one needs a moment: so until none is found.
    while time.monotonic() < deadline:
        found = _processes_with(wanted)
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        if not found:
            break
        time.sleep(0.002)
    return len(killed)


def _processes_with(variable: bytes) -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            # Gone, somebody else's, or dead already: none of ours.
            with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as file:
                if variable in file.read().split(b"\0"):
                    found.append(int(entry))
    return found
