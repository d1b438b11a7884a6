"""Appending records so that each is whole and durable before the next invocation starts."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from regatta.host.errors import StoreError
from regatta.host.files import take_lock
from regatta.host.journal.journal import Damage, read_file
from regatta.host.journal.record import encode_record
from regatta.host.values.record import Record


class JournalWriter:
    """One journal file, locked, cut back to its last whole line, open for appending."""

    def __init__(self, path: Path) -> None:
        """Open or make the file.

        Raises:
            StoreError: it cannot be opened, or another runner holds it.
        """
        self.path = path
        self.torn_bytes = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            new = not path.exists()
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            if new:
                _sync_directories(path.parent)
        except OSError as error:
            raise StoreError(str(path), "a file to append to", str(error.strerror)) from error
        try:
            take_lock(self._fd, patience_s=0)
        except OSError as error:
            os.close(self._fd)
            raise StoreError(
                str(path), "no other runner", "one that holds it", "see `regatta status`"
            ) from error
        self.records: list[Record] = []
        self._recover()

    def _recover(self) -> None:
        lines = 0
        for item in read_file(self.path):
            if isinstance(item, Damage) and item.torn:
                self.torn_bytes = os.fstat(self._fd).st_size - item.offset
                os.ftruncate(self._fd, item.offset)
                os.fdatasync(self._fd)
                break
            lines += 1
            if not isinstance(item, Damage):
                self.records.append(item)
        # Lines may be missing or damaged: the next number is above every one that was given.
        self.sequence = max([lines, *(record["sequence"] + 1 for record in self.records)])
        self._size = os.fstat(self._fd).st_size

    def append(self, record: Record) -> None:
        """Write one record durably; `sequence` is set here.

        Raises:
            StoreError: the disk is full or broken. The file is cut back to its last whole line.
        """
        record["sequence"] = self.sequence
        line = encode_record(record)
        try:
            written = os.write(self._fd, line)
            if written != len(line):
                raise OSError(28, "No space left on device (the line was cut short)")
            os.fdatasync(self._fd)
        except OSError as error:
            with suppress(OSError):  # where even this fails, the next start cuts the torn line off
                os.ftruncate(self._fd, self._size)
            raise StoreError(
                str(self.path), f"room for a record of {len(line)} bytes", str(error.strerror or error),
                "make room; the records before are whole, and the same command goes on",
            ) from error  # fmt: skip
        self._size += len(line)
        self.sequence += 1

    def close(self) -> None:
        """Close the file and give up its lock."""
        os.close(self._fd)


def _sync_directories(directory: Path) -> None:
    """A new file is durable only when its directory is."""
    for path in (directory, directory.parent):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
