"""The folder of `regatta time` without --save: removed at its end, or by the next `regatta time` if it was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "regatta-time-"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Remove the folders of killed processes. Yield a new folder, and remove it at the end."""
    _remove_left_over(Path(tempfile.gettempdir()))
    # Locked before it has the name that others look for: no other process finds it unlocked.
    hidden = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
    folder = hidden.with_name(hidden.name[1:])
    lock = os.open(hidden, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        hidden.rename(folder)
        yield folder
    finally:
        for path in (hidden, folder):
            shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _remove_left_over(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        # Of another user, or in use.
        with suppress(OSError):
            _remove_unless_locked(folder)


def _remove_unless_locked(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(lock).st_uid == os.geteuid():
            # The kernel releases the lock of a process that ends, however it ends.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
