"""Temporary folders of `regatta time` without --save and of Snakemake: the next process removes those of killed ones."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_PREFIX = "regatta-time-"
#: of names that `tempfile` makes
_RANDOM_CHARACTERS = 8


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Remove the folders of killed processes. Yield a new folder, and remove it at the end."""
    _remove_left_over(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"))
    # Locked before it has the name that others look for: no other process finds it unlocked.
    hidden = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
    folder = hidden.with_name(hidden.name[1:])
    lock = _opened(hidden)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        hidden.rename(folder)
        yield folder
    finally:
        for path in (hidden, folder):
            shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def claim_folders_of_snakemake(workflow: Any) -> None:
    """Lock and mark the temporary folders of this Snakemake process, and remove those of killed ones next to them.

    Snakemake removes them at its end, unless it is killed. Those of other workflows have no mark and stay, as do those of
    a process that is killed before it reads the workflow.

    Args:
        workflow: that of Snakemake, which has a folder in TMPDIR and one in its cache in the home directory.
    """
    # Another release of Snakemake, or a file system without locks: no reason to stop a workflow.
    with suppress(AttributeError, OSError):
        _claim(workflow.snakemake_tmp_dir)
        # None: the user chose the folder.
        if workflow.sourcecache.runtime_cache is not None:
            _claim(Path(workflow.sourcecache.runtime_cache.name))


def _claim(folder: Path) -> None:
    # Never closed: the lock lasts as long as the process. Locked before it has the mark that others look for.
    fcntl.flock(_opened(folder), fcntl.LOCK_EX)
    (folder / _mark()).touch()
    prefix = folder.name[:-_RANDOM_CHARACTERS]
    _remove_left_over(mark.parent for mark in folder.parent.glob(f"{prefix}*/{_mark()}"))


def _mark() -> str:
    """Return the file that marks folders of Snakemakes with a workflow of Regatta.

    The folder may be shared with other machines, whose locks are invisible here on some file systems.
    """
    return f".regatta-{os.uname().nodename}"


def _remove_left_over(folders: Iterable[Path]) -> None:
    for folder in folders:
        # Of another user, or in use.
        with suppress(OSError):
            _remove_unless_locked(folder)


def _remove_unless_locked(folder: Path) -> None:
    lock = _opened(folder)
    try:
        if os.fstat(lock).st_uid == os.geteuid():
            # The kernel releases the lock of a process that ends, however it ends.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
