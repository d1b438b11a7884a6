"""A file to which whole lines are appended, each durable before the next. Standard library only, for the runner carries it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regatta.host.errors import StoreError
from regatta.host.files import sync, take_lock


class LineFile:
    """One file, open for appending. Who appends, or cuts, holds its lock."""

    def __init__(self, path: Path) -> None:
        """Open or make the file.

        Raises:
            StoreError: it cannot be opened.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            new = not path.exists()
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            if new:
                # A new file is durable only when its folder is.
                sync(path.parent)
                sync(path.parent.parent)
        except OSError as error:
            raise StoreError(str(path), "a file to append to", str(error.strerror)) from error

    def lock(self, patience_s: float | None = None, say: Callable[[], object] | None = None) -> None:
        """Take the lock until the file is closed; see `take_lock`.

        Raises:
            OSError: another process still holds it, or the file system has no locks.
        """
        take_lock(self._fd, patience_s, say)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock for the length of a block."""
        self.lock()
        try:
            yield
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def cut(self, offset: int) -> int:
        """Cut off a torn last line, which begins at `offset`; returns its length in bytes."""
        torn_bytes = os.fstat(self._fd).st_size - offset
        os.ftruncate(self._fd, offset)
        os.fdatasync(self._fd)
        return torn_bytes

    def append(self, line: bytes, fix: str) -> None:
        """Write one line, its newline included, durably.

        Args:
            line: whole.
            fix: what the user can do when there is no room.

        Raises:
            StoreError: the disk is full or broken. The file is cut back to its last whole line.
        """
        size = os.fstat(self._fd).st_size
        try:
            if os.write(self._fd, line) != len(line):
                raise OSError(28, "No space left on device (the line was cut short)")
            os.fdatasync(self._fd)
        except OSError as error:
            with suppress(OSError):  # where even this fails, the next start cuts the torn line off
                os.ftruncate(self._fd, size)
            raise StoreError(
                str(self.path), f"room for a line of {len(line)} bytes", str(error.strerror or error), fix
            ) from error

    def close(self) -> None:
        """Close the file and give up its lock."""
        os.close(self._fd)
