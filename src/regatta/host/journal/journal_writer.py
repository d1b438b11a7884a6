"""Append records. Each is complete and durable before the next invocation starts."""

from __future__ import annotations

from pathlib import Path

from regatta.host.errors import StoreError
from regatta.host.journal.journal import Damage, read_file
from regatta.host.journal.line_file import LineFile
from regatta.host.journal.record import encode_record
from regatta.host.values.record import Record


class JournalWriter:
    """One journal file: locked, truncated to its last complete line, open for appending."""

    def __init__(self, path: Path) -> None:
        """Open or create the file.

        Raises:
            StoreError: the file cannot be opened, or another runner holds its lock.
        """
        self.path = path
        self.torn_bytes = 0
        self._file = LineFile(path)
        try:
            self._file.lock(patience_s=0)
        except OSError as error:
            self._file.close()
            raise StoreError(
                str(path), "no other runner", "a file locked by another runner", "see `regatta status`"
            ) from error
        self.records: list[Record] = []
        self._recover()

    def _recover(self) -> None:
        lines = 0
        for item in read_file(self.path):
            if isinstance(item, Damage) and item.torn:
                self.torn_bytes = self._file.cut(item.offset)
                break
            lines += 1
            if not isinstance(item, Damage):
                self.records.append(item)
        # Lines can be missing or damaged; the next number exceeds every used one.
        self.sequence = max([lines, *(record["sequence"] + 1 for record in self.records)])

    def append(self, record: Record) -> None:
        """Write one record durably, and set its `sequence`.

        Raises:
            StoreError: the disk is full or broken. The file is truncated to its last complete line.
        """
        record["sequence"] = self.sequence
        fix = "free disk space and run the same command again; previous records are intact"
        self._file.append(encode_record(record), fix)
        self.sequence += 1

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()
