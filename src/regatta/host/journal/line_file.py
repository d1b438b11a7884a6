"""An append-only file of lines, each durable before the next. Standard library only, because the runner carries it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regatta.host.errors import StoreError
from regatta.host.files import sync, take_lock


class LineFile:
    """One file, open for appending. Hold its lock to append or cut."""

    def __init__(self, path: Path) -> None:
        """Open or create the file.

        Raises:
            StoreError: the file cannot be opened.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            new = not path.exists()
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            if new:
                # A new file is durable only after a sync of its folder.
                sync(path.parent)
                sync(path.parent.parent)
        except OSError as error:
            raise StoreError(str(path), "a writable file", str(error.strerror)) from error

    def lock(self, patience_s: float | None = None, say: Callable[[], object] | None = None) -> None:
        """Take the lock until the file is closed; see `take_lock`.

        Raises:
            OSError: another process still holds it, or the file system has no locks.
        """
        take_lock(self._fd, patience_s, say)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock during a block."""
        self.lock()
        try:
            yield
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def cut(self, offset: int) -> int:
        """Cut off a torn last line, which begins at `offset`. Return its length in bytes."""
        torn_bytes = os.fstat(self._fd).st_size - offset
        os.ftruncate(self._fd, offset)
        os.fdatasync(self._fd)
        return torn_bytes

    def append(self, line: bytes, fix: str) -> None:
        """Write one line, including its newline, durably.

        Args:
            line: the complete line.
            fix: advice to the user for a full disk.

        Raises:
            StoreError: the disk is full or broken. The file is truncated to its last complete line.
        """
        size = os.fstat(self._fd).st_size
        try:
            if os.write(self._fd, line) != len(line):
                raise OSError(28, "No space left on device (the line was cut short)")
            os.fdatasync(self._fd)
        except OSError as error:
            with suppress(OSError):  # if this fails too, the next start cuts off the torn line
                os.ftruncate(self._fd, size)
            raise StoreError(
                str(self.path), f"free space for {len(line)} bytes", str(error.strerror or error), fix
            ) from error

    def close(self) -> None:
        """Close the file and release its lock."""
        os.close(self._fd)
