"""The page cache that a limit of memory leaves to files: the limit without the processes' own memory."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from regatta.host.errors import RegattaError
from regatta.models.page_cache.cache import PAGE_BYTES, CacheCounts, CacheSettings, simulate
from regatta.models.page_cache.operations import NONE, Operations

#: The kernel needs a few pages to go on, such as those of a window that is read.
_LEAST_PAGES = 16


def under(operations: Operations, folder: Path) -> Operations:
    """Return the operations on files below a folder, and those on no file.

    Other files, such as those of compilers and libraries, are then in memory and take no room: other programs
    of the host use them as well, so a control group does not count them.

    Args:
        operations: a trace.
        folder: absolute, without links.

    Raises:
        RegattaError: the trace has no file there.
    """
    inside = np.array([Path(path).is_relative_to(folder) for path in operations.paths], dtype=bool)
    if not inside.any():
        raise RegattaError("the trace", f"a file below {folder}", f"{len(operations.paths)} others")
    file = operations["file"]
    kept = (file == NONE) | inside[file]
    columns = {name: values[kept] for name, values in operations.columns.items()}
    return replace(operations, columns=columns)


def read_ahead_kib_of(path: Path) -> int:
    """Return KiB of the largest window of read-ahead on the disk of a file or folder; -1: unknown."""
    try:
        device = path.stat().st_dev
        name = f"{os.major(device)}:{os.minor(device)}"
        return int(Path("/sys/class/bdi", name, "read_ahead_kb").read_text())
    except (OSError, ValueError):
        return NONE


def simulate_within(operations: Operations, memory_bytes: int | None, settings: CacheSettings) -> CacheCounts:
    """Simulate the page cache of a control group with a limit of memory.

    Args:
        operations: a trace; its samples of memory tell what its processes leave of the limit at each time.
        memory_bytes: limit of the group; None: no limit.
        settings: of the cache; its capacity is replaced.
    """
    if memory_bytes is None:
        return simulate(operations, replace(settings, capacity_pages=None))
    left = [
        (time, max(_LEAST_PAGES, (memory_bytes - used) // PAGE_BYTES)) for time, used in operations.memory
    ]
    first = left[0][1] if left else max(_LEAST_PAGES, memory_bytes // PAGE_BYTES)
    return simulate(operations, replace(settings, capacity_pages=first), left)
