"""The files that a build is made from."""

from __future__ import annotations

import os
from pathlib import Path

#: folders that builds leave behind, and that are no sources
NOT_SOURCES = frozenset({"target", "build", "__pycache__", ".git"})


def source_files(home: Path, directory: str) -> list[Path]:
    """Files of a build's directory in a stable order, without what builds leave there."""
    found = []
    for current, directories, names in os.walk(home / directory):
        directories[:] = sorted(d for d in directories if d not in NOT_SOURCES)
        found += [Path(current) / name for name in sorted(names)]
    return found
