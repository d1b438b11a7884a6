"""The references of one process, turned from addresses into pages of files and of anonymous memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from regatta.models.page_cache.cache import FILE_PAGES, PAGE_BYTES
from regatta.models.page_cache.lackey import (
    INSTRUCTION,
    MODIFY,
    STORE,
    Lines,
    counted_instructions,
    forks,
    is_known,
    parse,
    process_of,
)
from regatta.models.page_cache.mappings import Mapping, Mappings
from regatta.models.page_cache.references import File

UNKNOWN_LINE = "line that is neither a reference nor a message of valgrind"
NO_SUMMARY = "process without the summary at the end of its trace (it was killed)"
LOST = "instruction that valgrind counted and did not trace"
NO_MAPS = "process that had ended before its first maps were read; its program counts as anonymous memory"
NO_NAME = "map of a file whose name is not in the trace; it counts as anonymous memory"
FORKED = "process that was forked; it is followed only if it runs a program"
_EXEC = b" sys_execve ("
#: a longer line is no line of valgrind
_LONGEST_LINE = 1 << 16
#: the part of valgrind that it loads into each process
_OF_VALGRIND = "vgpreload_"


class Files:
    """The mapped files that were met so far, and the anonymous memory of each process."""

    def __init__(self) -> None:
        self.rows: list[File] = []
        self._known: dict[tuple[str, int], int] = {}

    def anonymous(self, name: str) -> int:
        """Add the anonymous memory of a process, and return its row."""
        self.rows.append(File(name, anonymous=True))
        return len(self.rows) - 1

    def row(self, mapping: Mapping) -> int:
        """Return the row of a mapped file."""
        assert mapping.file is not None
        row = self._known.setdefault(mapping.file, len(self.rows))
        if row == len(self.rows):
            self.rows.append(File(mapping.path))
        if mapping.executable and not self.rows[row].executable:
            self.rows[row] = replace(self.rows[row], executable=True)
        return row


class ProcessReader:
    """Reads the lines of one process.

    Args:
        files: of all processes of the trace.
        problems: what could not be read -> number; increased.
        mappings_of: reads the mappings of a process.
        folder_of: reads the current folder of a process.
    """

    def __init__(
        self,
        files: Files,
        problems: Counter[str],
        mappings_of: Callable[[int], list[Mapping]],
        folder_of: Callable[[int], str | None],
    ) -> None:
        self.references = 0
        self._files, self._problems, self._mappings_of = files, problems, mappings_of
        self._pid: int | None = None
        self._anonymous = files.anonymous("anonymous memory")
        self._rest = b""
        self._instructions = 0
        self._counted: int | None = None
        self._folder_of = folder_of
        self._mappings = Mappings(None, lambda: problems.update([NO_NAME]))
        self._table = _Table([], files, self._anonymous)
        #: pages of private maps, by address, that were written and are now anonymous
        self._copied = np.zeros(0, np.int64)

    def read(self, text: bytes) -> NDArray[np.int64]:
        """Read the next bytes, and return the numbers of the pages that they refer to, in order."""
        text = self._rest + text
        end = text.rfind(b"\n") + 1
        self._rest = text[end:]
        if len(self._rest) > _LONGEST_LINE:
            self._problems[UNKNOWN_LINE] += 1
            self._rest = b""
        found = []
        for lines in parse(text[:end]):
            found.append(self._pages(lines))
            self._other(lines.line)
        return np.concatenate([np.zeros(0, np.int64), *found])

    def finish(self) -> None:
        """Note what is missing at the end."""
        # A process that becomes another program ends within the line of its call.
        if not is_known(self._rest):
            self._problems[UNKNOWN_LINE] += 1
        if self._counted is None:
            self._problems.update([NO_SUMMARY] * (_EXEC not in self._rest))
        elif self._counted > self._instructions:
            self._problems[LOST] += self._counted - self._instructions

    def _other(self, line: bytes) -> None:
        if self._pid is None:
            self._pid = process_of(line)
            if self._pid is not None:
                self._files.rows[self._anonymous] = File(f"anonymous memory of process {self._pid}", True)
                self._look()
        if self._mappings.apply(line):
            self._table = _Table(self._mappings.ranges, self._files, self._anonymous)
        elif forks(line):
            self._problems[FORKED] += 1
        elif (counted := counted_instructions(line)) is not None:
            self._counted = counted
        elif not is_known(line):
            self._problems[UNKNOWN_LINE] += 1

    def _look(self) -> None:
        """Read the maps of a process that begins."""
        mappings = [] if self._pid is None else self._mappings_of(self._pid)
        if mappings:
            self._mappings.ranges = mappings
            self._mappings.folder = self._folder_of(self._pid or 0) or self._mappings.folder
            self._table = _Table(mappings, self._files, self._anonymous)

    def _pages(self, lines: Lines) -> NDArray[np.int64]:
        if not len(lines.kinds):
            return np.zeros(0, np.int64)
        if not self.references:
            self._look()
            self._problems.update([NO_MAPS] * (not self._mappings.ranges))
        self.references += len(lines.kinds)
        self._instructions += int((lines.kinds == INSTRUCTION).sum())
        first = lines.addresses // PAGE_BYTES
        last = (lines.addresses + lines.sizes - 1) // PAGE_BYTES
        # A reference across the end of a page is one to each page.
        times = last - first + 1
        virtual = np.repeat(first, times)
        virtual[np.cumsum(times)[times == 2] - 1] += 1
        stores = np.repeat((lines.kinds == STORE) | (lines.kinds == MODIFY), times)
        return self._with_copies(virtual, stores)

    def _with_copies(self, virtual: NDArray[np.int64], stores: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the pages. A write to a private map reads the file's page, and makes it anonymous."""
        pages, private, dropped = self._table.pages(virtual)
        anonymous = self._anonymous * FILE_PAGES + virtual
        if len(self._copied):
            copied = private & np.isin(virtual, self._copied)
            pages = np.where(copied, anonymous, pages)
            private &= ~copied
        written = np.flatnonzero(private & stores)
        new, at = np.unique(virtual[written], return_index=True)
        firsts = written[at]
        if len(new):
            self._copied = np.union1d(self._copied, new)
            place = np.searchsorted(new, virtual).clip(max=len(new) - 1)
            later = private & (virtual == new[place]) & (np.arange(len(virtual)) > firsts[place])
            pages = np.where(later, anonymous, pages)
            copies = anonymous[firsts]
            keep = np.insert(~dropped, firsts + 1, True)
            pages = np.insert(pages, firsts + 1, copies)
            return pages[keep]
        return pages[~dropped]


class _Table:
    """Mappings as arrays."""

    def __init__(self, mappings: list[Mapping], files: Files, anonymous: int) -> None:
        self._starts = np.array([0, *(one.start // PAGE_BYTES for one in mappings)], np.int64)
        self._ends = np.array([0, *(one.end // PAGE_BYTES for one in mappings)], np.int64)
        #: what to add to a page of addresses
        self._base = np.full(len(mappings) + 1, anonymous * FILE_PAGES, np.int64)
        self._private = np.zeros(len(mappings) + 1, bool)
        self._dropped = np.zeros(len(mappings) + 1, bool)
        for at, one in enumerate(mappings, 1):
            if one.file is not None:
                start, offset = one.start // PAGE_BYTES, one.offset // PAGE_BYTES
                self._base[at] = files.row(one) * FILE_PAGES + offset - start
                self._private[at] = not one.shared
                self._dropped[at] = _OF_VALGRIND in one.path

    def pages(
        self, virtual: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return page numbers, and whether they are of a private map of a file, and whether of valgrind.

        Addresses in no known map are anonymous memory: heaps and stacks grow between two looks at the maps.
        """
        at = np.searchsorted(self._starts, virtual, side="right") - 1
        at = np.where(virtual < self._ends[at], at, 0)
        return virtual + self._base[at], self._private[at], self._dropped[at]
