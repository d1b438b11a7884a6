"""A journal file of this machine into which the lines of a host's own file are taken over, whole and durable, one by one."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from regatta.errors import StoreError
from regatta.store.journal import Damage, read_file


class JournalCopy:
    """One file, locked, cut back to its last whole line, open for appending."""

    def __init__(self, path: Path) -> None:
        """Open or make the file.

        Raises:
            StoreError: it cannot be opened, or somebody else holds it.
        """
        self.path = path
        #: sequence number of the last line; -1 where there is none
        self.last = -1
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreError(str(path), "a file to append to", str(error.strerror)) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._fd)
            raise StoreError(str(path), "nobody else who takes records over", "one that does", "see `regatta status`") from error  # fmt: skip
        for item in read_file(path):
            if isinstance(item, Damage):
                if item.torn:
                    os.ftruncate(self._fd, item.offset)
                    break
            else:
                self.last = max(self.last, int(item["sequence"]))

    def append(self, line: bytes, record: dict[str, Any]) -> None:
        """Take one line over, without its newline, as the host wrote it.

        Raises:
            StoreError: the disk is full or broken. The file is cut back to its last whole line.
        """
        size = os.fstat(self._fd).st_size
        data = line + b"\n"
        try:
            if os.write(self._fd, data) != len(data):
                raise OSError(28, "No space left on device (the line was cut short)")
            os.fdatasync(self._fd)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._fd, size)
            raise StoreError(
                str(self.path), f"room for a record of {len(data)} bytes", str(error.strerror or error),
                "make room; the host measures on, and the same command fetches the rest",
            ) from error  # fmt: skip
        self.last = int(record["sequence"])

    def close(self) -> None:
        """Close the file and give up its lock."""
        os.close(self._fd)
