"""A journal file of this machine into which the lines of a host's own file are taken over, whole and durable, one by one."""

from __future__ import annotations

import sys
from pathlib import Path

from regatta.host.journal.journal import Damage, read_file
from regatta.host.journal.line_file import LineFile
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
        self._file = LineFile(path)
        waiting = f"waiting: another process takes over what {path.parent.name} records"
        self._file.lock(say=lambda: print(waiting, file=sys.stderr, flush=True))
        for item in read_file(path):
            if isinstance(item, Damage):
                if item.torn:
                    self._file.cut(item.offset)
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
        self._file.append(
            line + b"\n", "make room; the host measures on, and the same command fetches the rest"
        )
        self._note(record)

    def close(self) -> None:
        """Close the file and give up its lock."""
        self._file.close()
