"""The files that a build, or a generated input, is made from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from regatta.host.cache import regular_status
from regatta.host.errors import HostError

#: what a build may be made from; more is a folder that was not meant
MOST_SOURCE_BYTES = 4 << 30
#: folders that builds leave behind, and that are no sources
NOT_SOURCES = frozenset({"target", "build", "__pycache__", ".git"})


def source_files(home: Path, directory: str) -> list[Path]:
    """Files of a build's directory in a stable order, without what builds leave there.

    Raises:
        HostError: one is no regular file, such as a pipe or a link to a device, or together they are too large.
    """
    found = []
    left = MOST_SOURCE_BYTES
    for current, directories, names in os.walk(home / directory):
        directories[:] = sorted(d for d in directories if d not in NOT_SOURCES)
        for path in (Path(current) / name for name in sorted(names)):
            try:
                status = regular_status(path)
            except OSError as error:
                raise HostError(
                    str(path), "a source file", str(error.strerror), "remove it from the sources"
                ) from error
            left -= status.st_size
            if left < 0:
                most = f"sources of at most {MOST_SOURCE_BYTES >> 30} GiB"
                raise HostError(
                    str(home / directory), most, "more", "correct `directory`, or generate it as input"
                )
            found.append(path)
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
