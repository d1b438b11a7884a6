"""Digest of the files that a cell executes or reads.

A folder's digest covers its listing and the bytes of all files except large data. Standard library only: on the
host, the runner compares the digests with the plan.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from regatta.host.cache import bytes_sha256

#: files that a JVM or a machine executes
_EXECUTED = (".jar", ".class", ".so")
#: limit for properties, configuration and similar files; larger data, which can be tens of gigabytes, enters by size only
_SMALL_BYTES = 1 << 20


def listing(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the path and status of each file in a folder, recursively, sorted by name. Follow links, as programs do.

    Raises:
        OSError: an entry cannot be read, a link is broken, or a link leads to a folder that contains it.
    """
    return _listing(folder, "", ())


def _listing(
    folder: Path, below: str, above: tuple[tuple[int, int], ...]
) -> Iterator[tuple[str, os.stat_result]]:
    here = os.stat(folder)
    identity = (here.st_dev, here.st_ino)
    if identity in above:
        raise OSError(errno.ELOOP, "a symbolic link to a parent folder", str(folder))
    folders = []
    for name in sorted(os.listdir(folder)):
        status = os.stat(folder / name)
        if stat.S_ISDIR(status.st_mode):
            folders.append(name)
        else:
            yield below + name, status
    for name in folders:
        yield from _listing(folder / name, f"{below}{name}/", (*above, identity))


def contents_sha256(path: Path, of_file: Callable[[Path], str] = bytes_sha256) -> str:
    """Return the SHA-256 of a file, or of a folder.

    For a folder, hash the name and size of each file, and the bytes of files that are executed or small.

    Args:
        path: a file or a folder.
        of_file: returns the SHA-256 of one file, for example from a cache.

    Raises:
        OSError: an entry cannot be read.
    """
    if not path.is_dir():
        return of_file(path)
    digest = hashlib.sha256()
    for name, status in listing(path):
        read = name.endswith(_EXECUTED) or status.st_size <= _SMALL_BYTES
        # A socket or a pipe has no bytes to compare, and reading it would block forever.
        inside = of_file(path / name) if read and stat.S_ISREG(status.st_mode) else ""
        digest.update(f"{name}\0{status.st_size}\0{inside}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def place(source: Path, target: Path) -> None:
    """Copy a file to `target`, or link a folder there.

    Raises:
        OSError: the file does not exist, or the disk is full.
    """
    if source.is_dir():
        target.symlink_to(source, target_is_directory=True)
    else:
        shutil.copyfile(source, target)
