"""Find the mount points of control groups, and the groups of a process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress


def mounts(proc: str = "/proc") -> list[tuple[str, str, set[str]]]:
    """Return (file system, mount point, options) of each control group. `proc`: another tree in tests."""
    words = [line.split() for line in _lines(f"{proc}/self/mounts")]
    return [
        (kind, point.replace("\\040", " "), set(options.split(",")))
        for _, point, kind, options, *_ in words
        if kind in ("cgroup", "cgroup2")
    ]


def paths_of(pid: int | str, proc: str = "/proc") -> dict[str, str]:
    """Return controller ("": version 2) -> path of the group of a process (PID or "self") in its mount."""
    groups = [line.split(":", 2) for line in _lines(f"{proc}/{pid}/cgroup")]
    return {controller: path for _, names, path in groups for controller in names.split(",")}


def _lines(path: str) -> Iterator[str]:
    """Yield the lines of a file without empty ones; none if it cannot be read."""
    with suppress(OSError), open(path, errors="surrogateescape") as file:
        for line in file:
            if line.strip():
                yield line.rstrip("\n")
