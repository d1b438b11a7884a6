"""Find the source files of a build or a generated input."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from regatta.host.cache import regular_status
from regatta.host.errors import HostError

#: limit for the sources of a build; a larger folder is probably a mistake
MOST_SOURCE_BYTES = 4 << 30
#: folders that builds write, which are not sources
NOT_SOURCES = frozenset({"target", "build", "__pycache__", ".git"})


def source_files(home: Path, directory: str) -> list[Path]:
    """Return the files of a build's directory in a stable order, without build outputs.

    Raises:
        HostError: a file is not regular, such as a pipe or a link to a device, or the files are too large in total.
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
                    str(path), "a readable source file", str(error.strerror), "remove it from the sources"
                ) from error
            left -= status.st_size
            if left < 0:
                most = f"sources of at most {MOST_SOURCE_BYTES >> 30} GiB"
                raise HostError(
                    str(home / directory), most, "more", "correct `directory`, or generate it as input"
                )
            found.append(path)
    return found


def sources_sha256(folder: Path, command: Sequence[object] = ()) -> str:
    """Return the digest of the source files in a folder: paths, executable bits and bytes. `command` is added to it.

    Raises:
        HostError: as `source_files`.
    """
    digest = hashlib.sha256(json.dumps(command).encode())
    for path in source_files(folder, "."):
        status = path.stat()
        digest.update(
            f"\0{path.relative_to(folder)}\0{status.st_mode & 0o111:o}\0{status.st_size}\0".encode()
        )
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def generator_files(command: Iterable[str], home: Path) -> list[Path]:
    """Return the files in an input's command: scripts, and all files of a directory that Python runs (`__main__.py`)."""
    found = []
    for word in command:
        if (home / word).is_file():
            found.append(home / word)
        elif (home / word / "__main__.py").is_file():
            found += source_files(home, word)
    return found
