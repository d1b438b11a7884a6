"""Process information from the kernel. PID and start time identify a process; a PID alone can be reused."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path

#: indexes in `stat_fields`: state, parent, flags, start time in clock ticks since boot
STATE, PARENT, FLAGS, START = 0, 1, 6, 19
_ORPHANS_S = 10.0
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int) -> int:
    """Set an option of this process (prctl(2), <linux/prctl.h>). Return 0, or -1 with the reason in `ctypes.get_errno()`."""
    # The kernel reads whole registers.
    return int(_LIBC.prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3))


def die_with_parent() -> None:
    """In a child: terminate when the parent terminates, for any reason."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def stat_fields(pid: int | str, proc: str = "/proc") -> list[str]:
    """Return the fields of /proc/PID/stat after the name (which can contain anything); empty if the process does not exist."""
    try:
        with open(f"{proc}/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode("ascii", "replace").split()
    except OSError:
        return []


def process_start(pid: int) -> int | None:
    """Return the start time of a process in ticks since boot.

    Return None if the process does not exist, or is a zombie whose parent may never reap it.
    """
    fields = stat_fields(pid)
    return int(fields[START]) if len(fields) > START and fields[STATE] not in "ZX" else None


def end_orphans(results_file: str) -> int:
    """Kill processes whose REGATTA_RESULTS is this file: they outlived a killed runner.

    The caller must hold the host lock, so that no process of a live runner is among them.

    Returns:
        The number of killed processes.
    """
    wanted = b"REGATTA_RESULTS=" + os.fsencode(results_file)
    killed: set[int] = set()
    deadline = time.monotonic() + _ORPHANS_S
    # Processes can fork during the search, and a killed one needs time to end. Repeat until none is found.
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
            # Skip processes that have ended or belong to another user.
            with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as file:
                if variable in file.read().split(b"\0"):
                    found.append(int(entry))
    return found


def status_value(pid: int | str, name: str, proc: str = "/proc") -> str | None:
    """Return a value of /proc/PID/status; None if there is none, or the task no longer exists."""
    try:
        with open(f"{proc}/{pid}/status", errors="replace") as file:
            return next((line[len(name) + 1 :].strip() for line in file if line.startswith(f"{name}:")), None)
    except OSError:
        return None


def effective_capabilities(pid: int) -> int:
    """Return the effective capabilities of a process as a mask; 0 if it no longer exists."""
    return int(status_value(pid, "CapEff") or "0", 16)


def children_of(pid: int) -> list[int]:
    """Return the direct children of a process, from /proc; empty if it no longer exists."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        return found
    return found


def descendants(pid: int) -> list[int]:
    """Return the descendants of a process, parents first."""
    found = children_of(pid)
    for each in found:
        found += children_of(each)
    return found


def own_words() -> list[str]:
    """Return the words with which Python runs this package: a zipapp, or a module."""
    archive = Path(sys.argv[0])
    return [str(archive)] if archive.suffix == ".pyz" else ["-m", "regatta.host"]


def own_environment() -> dict[str, str]:
    """Return the environment of this process, with which a child finds this package."""
    paths = [os.path.abspath(path) for path in sys.path if path and not path.endswith(".pyz")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
