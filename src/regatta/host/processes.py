"""What the kernel tells of a process. Its start time with its number is its identity: a number alone may be reused."""

from __future__ import annotations

#: places in `stat_fields`: the state; start time in clock ticks since boot
STATE, START = 0, 19


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
