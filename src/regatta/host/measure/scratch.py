"""Manage folders in which a program may do anything: empty them before it, read them after it through their descriptors."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import time
from pathlib import Path

from regatta.host.files import SETTLED_NS


def work_of(scratch: Path) -> Path:
    """Return the empty working directory of measured programs: their HOME and TMPDIR."""
    return scratch / "work"


def results_of(scratch: Path) -> Path:
    """Return the file that `REGATTA_RESULTS` names. It has a separate folder, so that a program may also replace it."""
    return scratch / "results" / "results.jsonl"


def halves_in(scratch: Path) -> list[Path]:
    """Return the folders of programs that run at once, each on a half of the host."""
    return [scratch / "half-0", scratch / "half-1"]


class NotPlain(Exception):
    """A name that is not a plain file: a link, a folder, a pipe, a device, or a file with a second name."""


class EmptyDirectory:
    """A directory that is emptied repeatedly. Its files are accessed through its descriptor, so no link leads elsewhere."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name = str(path)
        #: inode number and change time of the directory when found empty; creating or removing an entry changes them
        self._untouched: tuple[int, int] | None = None
        #: the created directory, even if its path now names another directory
        self._fd = -1

    def make(self) -> None:
        """Create the directory or empty it. If it is unchanged since the last call, this costs a single `lstat`.

        Raises:
            OSError: an entry cannot be removed.
        """
        try:
            status = os.lstat(self._name)
            identity = (status.st_ino, status.st_ctime_ns)
        except OSError:
            identity = (0, 0)
        if identity == self._untouched:
            return
        if is_empty_directory(self.path):
            settled = time.time_ns() - identity[1] > SETTLED_NS
            self._untouched = identity if settled else None
        else:
            self._untouched = None
            remove_tree(self.path)
            self.path.mkdir(parents=True)
        opened = os.open(self._name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        if self._fd < 0:
            self._fd = opened
        else:
            # Keep the number: the limit of a measured process on open files counts from the lowest free one.
            os.dup2(opened, self._fd, inheritable=False)
            os.close(opened)

    def close(self) -> None:
        """Close the descriptor; the directory stays."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def open_file(self, name: str) -> int:
        """Open a plain file of the directory for reading. If its owner lacks read permission, add it.

        Returns:
            A descriptor, which the caller closes.

        Raises:
            NotPlain: it is not a plain file; it was not opened, so that no pipe blocks and no device is triggered.
            OSError: it does not exist, or cannot be opened.
        """
        if os.sep in name:
            raise NotPlain("a path")
        seen = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._fd)
        try:
            status = os.fstat(seen)
            if not stat.S_ISREG(status.st_mode):
                raise NotPlain("a symbolic link, a folder, a pipe or a device")
            if status.st_nlink != 1:
                raise NotPlain("a file with several hard links")
            # Use the descriptor, because the name may refer to another file by now.
            same = f"/proc/self/fd/{seen}"
            if not status.st_mode & stat.S_IRUSR:
                os.chmod(same, 0o600)
            return os.open(same, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        finally:
            os.close(seen)

    def move_file(self, name: str, opened: int, target: Path) -> None:
        """Move a file out of the directory.

        Args:
            name: of the file.
            opened: its descriptor from `open_file`.
            target: destination path, which does not exist.

        Raises:
            OSError: it cannot be moved, or the name refers to another file by now.
        """
        try:
            os.rename(name, target, src_dir_fd=self._fd)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with open(os.dup(opened), "rb") as source, target.open("xb") as copy:
                shutil.copyfileobj(source, copy)
            os.unlink(name, dir_fd=self._fd)
            return
        if not os.path.samestat(os.fstat(opened), os.lstat(target)):
            remove_tree(target)
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), name)


def is_empty_directory(path: Path) -> bool:
    """Return whether the path is an empty directory, not a link to one, with all permissions for its owner."""
    try:
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o700 != 0o700:
            return False
        with os.scandir(path) as entries:
            return next(entries, None) is None
    except OSError:
        return False


def remove_tree(path: Path) -> None:
    """Remove `path` recursively at any depth. Do not follow links; open directories without permissions.

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
    """Empty a directory by moving nested entries to its top repeatedly, which keeps paths short and descriptors few."""
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
