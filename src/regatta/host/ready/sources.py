"""Find the source files of a build or a generated input."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from regatta.host.cache import regular_status
from regatta.host.errors import HostError

#: limit for the sources of a build; a larger folder is probably a mistake
MOST_SOURCE_BYTES = 4 << 30
#: folders of a working folder that builds write, which are not sources
NOT_SOURCES = frozenset({"target", "build", "__pycache__", ".git"})


def source_files(home: Path, directory: str, whole: bool = False) -> list[Path]:
    """Return the files of a build's directory in a stable order.

    Of a working folder, omit build outputs by the names of their folders, and follow symbolic links. `whole`: the
    directory is an export, of which every file is a source, and a symbolic link is an entry of its own.

    Raises:
        HostError: a file is not regular, such as a pipe or a link to a device, or the files are too large in total.
    """
    found = []
    left = MOST_SOURCE_BYTES
    for path in _entries(home / directory, whole):
        try:
            status = path.lstat() if whole and path.is_symlink() else regular_status(path)
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


def _entries(folder: Path, whole: bool, above: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield the files of a folder, sorted: first its own, then those of its folders.

    Raises:
        HostError: a followed link leads to a folder that contains it.
    """
    real = os.path.realpath(folder)
    if real in above:
        raise HostError(
            str(folder), "a link to a file or to another folder", "a link to a parent folder", "remove it"
        )
    folders = []
    try:
        names = sorted(os.listdir(folder)) if folder.is_dir() else []
    except OSError as error:
        raise HostError(
            str(folder), "a readable folder of sources", str(error.strerror), "change its permissions"
        ) from error
    for name in names:
        path = folder / name
        if not path.is_dir() or (whole and path.is_symlink()):
            yield path
        elif whole or name not in NOT_SOURCES:
            folders.append(path)
    for path in folders:
        yield from _entries(path, whole, (*above, real))


def copy_sources(files: Iterable[Path], source: Path, target: Path, whole: bool = False) -> None:
    """Copy files of one folder to another, with the same relative paths. `whole`: links stay links.

    Raises:
        OSError: the disk is full.
    """
    for path in files:
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy, follow_symlinks=not whole)


def sources_sha256(
    folder: Path, command: Sequence[object] = (), whole: bool = False, files: Sequence[Path] | None = None
) -> str:
    """Return the digest of the source files in a folder: paths, executable bits, bytes and links. `command` is added to it.

    Args:
        folder: folder of the sources.
        command: added to the digest.
        whole: as for `source_files`.
        files: only these files of the folder; None: all of `source_files`.

    Raises:
        HostError: as `source_files`.
    """
    digest = hashlib.sha256(json.dumps(command).encode())
    for path in source_files(folder, ".", whole) if files is None else files:
        name = str(path.relative_to(folder)).encode(errors="surrogateescape")
        if whole and path.is_symlink():
            digest.update(b"\0%s\0link\0%s\0" % (name, os.fsencode(os.readlink(path))))
            continue
        status = path.stat()
        executable = status.st_mode & 0o111
        if whole:
            # The umask decides for whom else git makes a file executable.
            executable = 0o111 if executable else 0
        digest.update(b"\0%s\0%o\0%d\0" % (name, executable, status.st_size))
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
