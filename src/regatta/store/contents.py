"""What a cell executes or reads, in one digest: a file's bytes, or a folder's listing and the bytes of the programs in it.

Standard library only: the runner compares on the host what the plan was made from.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

#: what a JVM or a machine executes; of other files in a folder the size is told, for data can be tens of gigabytes
_EXECUTED = (".jar", ".class", ".so")
_CHUNK_BYTES = 1 << 20


def stream_sha256(stream: BinaryIO) -> str:
    """SHA-256 of what is left of an open file."""
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def bytes_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as stream:
        return stream_sha256(stream)


def listing(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Files of a folder and those below it, by name, with what the system knows of each. Links are followed to files alone.

    Raises:
        OSError: it cannot be read.
    """

    def refuse(error: OSError) -> None:
        raise error

    for current, directories, names in os.walk(folder, onerror=refuse):
        directories.sort()
        for name in sorted(names):
            path = os.path.join(current, name)
            yield os.path.relpath(path, folder), os.stat(path)


def contents_sha256(path: Path, of_file: Callable[[Path], str] = bytes_sha256) -> str:
    """SHA-256 of a file's bytes; of a folder: of each file's name and size, and the digest of those that are executed.

    Args:
        path: a file or a folder.
        of_file: SHA-256 of one file, such as one that is remembered.

    Raises:
        OSError: something in it cannot be read.
    """
    if not path.is_dir():
        return of_file(path)
    digest = hashlib.sha256()
    for name, status in listing(path):
        executed = of_file(path / name) if name.endswith(_EXECUTED) else ""
        digest.update(f"{name}\0{status.st_size}\0{executed}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def place(source: Path, target: Path) -> None:
    """Put a copy of a file, or a link to a folder, at `target`.

    Raises:
        OSError: no such file, or no room.
    """
    if source.is_dir():
        target.symlink_to(source, target_is_directory=True)
    else:
        shutil.copyfile(source, target)
