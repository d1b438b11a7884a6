"""What a cell executes or reads, in one digest: a file's bytes, or a folder's listing and the bytes of all but its large data.

Standard library only: the runner compares on the host what the plan was made from.
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

#: what a JVM or a machine executes
_EXECUTED = (".jar", ".class", ".so")
#: such as properties and configuration; of other files above it the size is told, for data can be tens of gigabytes
_SMALL_BYTES = 1 << 20


def listing(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Files of a folder and those below it, by name, with what the system knows of each. Links are followed, as programs do.

    Raises:
        OSError: something in it cannot be read, or a link names nothing or a folder that it is in.
    """
    return _listing(folder, "", ())


def _listing(
    folder: Path, below: str, above: tuple[tuple[int, int], ...]
) -> Iterator[tuple[str, os.stat_result]]:
    here = os.stat(folder)
    identity = (here.st_dev, here.st_ino)
    if identity in above:
        raise OSError(errno.ELOOP, "a link to a folder that it is in", str(folder))
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
    """SHA-256 of a file's bytes; of a folder: of each file's name and size, and of its bytes where it is executed or small.

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
        read = name.endswith(_EXECUTED) or status.st_size <= _SMALL_BYTES
        # A socket or a pipe has no bytes to compare, and reading it would wait for ever.
        inside = of_file(path / name) if read and stat.S_ISREG(status.st_mode) else ""
        digest.update(f"{name}\0{status.st_size}\0{inside}\n".encode("utf-8", "surrogateescape"))
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
