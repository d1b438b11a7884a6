"""The files that a build, or a generated input, is made from."""

from __future__ import annotations

import os
from collections.abc import Iterable
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


def generator_files(command: Iterable[str], home: Path) -> list[Path]:
    """Files of the home that an input's command names: scripts, and all of a directory that Python runs (`__main__.py`)."""
    found = []
    for word in command:
        if (home / word).is_file():
            found.append(home / word)
        elif (home / word / "__main__.py").is_file():
            found += source_files(home, word)
    return found
