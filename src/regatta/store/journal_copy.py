"""A journal file of this machine into which the lines of a host's own file are taken over, whole and durable, one by one."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from regatta.host.errors import StoreError
from regatta.host.files import take_lock
from regatta.host.journal.journal import Damage, read_file
from regatta.host.values.record import Record


class JournalCopy:
    """One file, locked, cut back to its last whole line, open for appending."""

    def __init__(self, path: Path) -> None:
        """Open or make the file.

        Waits for somebody else who takes records over: one that outlived its workflow ends with the segment.

        Raises:
            StoreError: it cannot be opened.
        """
        self.path = path
        #: (invocation, attempt) of every record that is here
        self.seen: set[tuple[str, int]] = set()
        self._numbers: set[int] = set()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreError(str(path), "a file to append to", str(error.strerror)) from error
        waiting = f"waiting: another process takes over what {path.parent.name} records"
        take_lock(self._fd, say=lambda: print(waiting, file=sys.stderr, flush=True))
        for item in read_file(path):
            if isinstance(item, Damage):
                if item.torn:
                    os.ftruncate(self._fd, item.offset)
                    break
            else:
                self._note(item)

    @property
    def whole_up_to(self) -> int:
        """The sequence number up to which no record is lacking; -1: the first is."""
        number = -1
        while number + 1 in self._numbers:
            number += 1
        return number

    def _note(self, record: Record) -> None:
        self.seen.add((record["invocation_id"], record["attempt"]))
        self._numbers.add(record["sequence"])

    def append(self, line: bytes, record: Record) -> None:
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
        self._note(record)

    def close(self) -> None:
        """Close the file and give up its lock."""
        os.close(self._fd)
