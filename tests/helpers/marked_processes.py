"""Processes found by a mark in their environment, which children inherit however far they go."""

from __future__ import annotations

from pathlib import Path


def processes_with(marker: str) -> list[int]:
    """Ids of the processes whose environment holds the marker."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if marker.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
