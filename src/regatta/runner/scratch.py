"""Emptying the working directory of a program that may have done anything to it."""

from __future__ import annotations

import os
import shutil
import stat
import time
from pathlib import Path

#: After so long no later change can have the same change time, however coarse the clock of the file system is.
_SETTLED_NS = 1_000_000_000


class EmptyDirectory:
    """A directory that is made empty again and again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name = str(path)
        #: number and change time of the directory that was found empty; both stay while nothing is made or removed in it
        self._untouched: tuple[int, int] | None = None

    def make(self) -> None:
        """Make it, and make it empty; when nothing has touched it since the last time, that costs one look from outside.

        Raises:
            OSError: something in it cannot be removed.
        """
        try:
            status = os.lstat(self._name)
            identity = (status.st_ino, status.st_ctime_ns)
        except OSError:
            identity = (0, 0)
        if identity == self._untouched:
            return
        if is_empty_directory(self.path):
            settled = time.time_ns() - identity[1] > _SETTLED_NS
            self._untouched = identity if settled else None
        else:
            self._untouched = None
            remove_tree(self.path)
            self.path.mkdir(parents=True)


def is_empty_directory(path: Path) -> bool:
    """Whether there is a directory with nothing in it, not a link to one, that its owner may use."""
    try:
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o700 != 0o700:
            return False
        with os.scandir(path) as entries:
            return next(entries, None) is None
    except OSError:
        return False


def remove_tree(path: Path) -> None:
    """Remove whatever is at `path`: links are not followed, closed directories are opened, no depth is too great.

    Raises:
        OSError: it cannot be removed.
    """
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        _flatten(path)
        os.rmdir(path)


def _flatten(top: Path) -> None:
    """Empty a directory by lifting what lies deeper to its top, again and again: paths stay short, and descriptors few."""
    number = 0
    os.chmod(top, 0o700)
    while True:
        entries = list(os.scandir(top))
        if not entries:
            return
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, 0o700)
            for inner in list(os.scandir(entry.path)):
                if inner.is_dir(follow_symlinks=False):
                    os.chmod(inner.path, 0o700)
                    number += 1
                    os.rename(inner.path, top / f"lifted-{os.getpid()}-{number}")
                else:
                    os.unlink(inner.path)
            os.rmdir(entry.path)
