"""Simulate the faults of Linux on mapped files: fault-around, read-ahead, and the lists of pages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regatta.models.page_cache.cache import FILE_PAGES
from regatta.models.page_cache.read_ahead import Stream
from regatta.models.page_cache.references import References
from regatta.models.page_cache.replacement import AHEAD, CODE, MAPPED, MARK, MappedTwoLists

#: a fault also maps the cached pages of its aligned 64 KiB (fault_around_bytes)
_AROUND = 16
#: after so many more misses than hits in a file, faults read no longer around (MMAP_LOTSAMISS)
_LOTS_OF_MISSES = 100
_MOST_MISSES = 10 * _LOTS_OF_MISSES


@dataclass(frozen=True)
class MapSettings:
    """How the kernel reads mapped files.

    Args:
        read_ahead_pages: pages that are read around a fault; 0: only the page of the fault. Linux:
            `read_ahead_kb` / 4.
        advised_random: all maps have MADV_RANDOM. The kernel then reads no page ahead, and sees no use after
            the fault.
    """

    read_ahead_pages: int = 32
    advised_random: bool = False

    def __post_init__(self) -> None:
        if self.read_ahead_pages < 0:
            raise ValueError(f"read_ahead_pages is {self.read_ahead_pages}, not 0 or more")


@dataclass(slots=True)
class MapCounts:
    """The faults on pages of files.

    Args:
        major: faults that wait for the disk.
        minor: faults that find the page in the cache.
        read: pages read from the disk, with those read ahead.
        read_again: of them, pages that were read before and left.
        evictions: pages that left.
    """

    major: int = 0
    minor: int = 0
    read: int = 0
    read_again: int = 0
    evictions: int = 0


def simulate_maps(references: References, memory_pages: int, settings: MapSettings) -> MapCounts:
    """Run references through memory without swap that is empty at its start, and count the faults on files.

    Anonymous pages take memory when they are first touched, and keep it.

    Args:
        references: a trace.
        memory_pages: size of the memory, more than the anonymous pages.
        settings: how the kernel reads.

    Raises:
        ValueError: the anonymous pages alone fill the memory.
    """
    return _Maps(references, memory_pages, settings).run()


class _Maps:
    """Simplified: a file is mapped once and whole; pages instead of large folios; nothing is written back."""

    def __init__(self, references: References, memory_pages: int, settings: MapSettings) -> None:
        self.counts = MapCounts()
        self._references = references
        self._memory = memory_pages
        self._most = 0 if settings.advised_random else settings.read_ahead_pages
        self._lists = MappedTwoLists(looks=not settings.advised_random)
        self._streams: dict[int, Stream] = {}
        self._misses: dict[int, int] = {}
        self._was_read: set[int] = set()
        #: pages of a file that are read ahead lie below this one, the last that the program touches
        self._ends = _last_pages(references)

    def run(self) -> MapCounts:
        """Apply all references."""
        pages, anonymous = self._references.pages, self._references.anonymous
        # Anonymous pages matter only when they take their memory.
        matter = ~anonymous | self._references.first_touches
        use = self._lists.use
        for page, pins in zip(pages[matter].tolist(), anonymous[matter].tolist(), strict=True):
            if pins:
                self._memory -= 1
                if self._memory < 0:
                    raise ValueError("the anonymous pages fill the memory")
                self._make_room(0)
            elif not use(page):
                self._fault(page)
        return self.counts

    def _fault(self, page: int) -> None:
        lists, file = self._lists, page // FILE_PAGES
        self._map_around(page)
        if lists.use(page):
            self.counts.minor += 1
            return
        flags = lists.flags(page)
        if flags is None:
            self.counts.major += 1
            self._read_around(page)
        else:
            # Its mark kept it from being mapped around: the next window begins.
            self.counts.minor += 1
            self._missed(file, -1)
            lists.clear(page, MARK)
            self._next_window(page)
        if lists.flags(page) is None:
            # The window displaced the page.
            self._add(page, 0)
        lists.clear(page, MARK | AHEAD)
        lists.map(page, self._code(file))

    def _map_around(self, page: int) -> None:
        lists, file = self._lists, page // FILE_PAGES
        start = page - page % _AROUND
        more = self._code(file)
        found = 0
        for one in range(start, start + _AROUND):
            flags = lists.flags(one)
            if flags is None or flags & MARK:
                continue
            # Pages that are mapped already count too (filemap_map_pages).
            found += 1
            if not flags & MAPPED:
                lists.clear(one, AHEAD)
                lists.map(one, more)
        self._missed(file, -found)

    def _code(self, file: int) -> int:
        return CODE if self._references.files[file].executable else 0

    def _missed(self, file: int, more: int) -> int:
        misses = max(0, min(_MOST_MISSES, self._misses.get(file, 0) + more))
        self._misses[file] = misses
        return misses

    def _read_around(self, page: int) -> None:
        """Read the page of a fault, and around it unless that seldom helps (do_sync_mmap_readahead)."""
        most, file = self._most, page // FILE_PAGES
        if not most or self._missed(file, 1) > _LOTS_OF_MISSES:
            self._add(page, 0)
            return
        index = page % FILE_PAGES
        stream = self._streams.setdefault(file, Stream())
        stream.start = max(0, index - most // 2)
        stream.size, stream.ahead, stream.order = most, most // 4, 0
        self._read_window(file, stream)

    def _next_window(self, page: int) -> None:
        """Read the next window in the background (page_cache_async_ra)."""
        file, index = divmod(page, FILE_PAGES)
        stream = self._streams.setdefault(file, Stream())

        def is_cached(index: int) -> bool:
            return self._lists.flags(file * FILE_PAGES + index) is not None

        if stream.follows(index, self._most, self._most, True, is_cached):
            self._read_window(file, stream)

    def _read_window(self, file: int, stream: Stream) -> None:
        base = file * FILE_PAGES
        mark = base + stream.mark
        for one in range(base + stream.start, min(base + stream.start + stream.size, self._ends[file] + 1)):
            if self._lists.flags(one) is None:
                self._add(one, AHEAD | MARK if one == mark else AHEAD)

    def _add(self, page: int, flags: int) -> None:
        self._make_room(1)
        self.counts.read += 1
        self.counts.read_again += page in self._was_read
        self._was_read.add(page)
        self._lists.add(page, flags, False, False)

    def _make_room(self, pages: int) -> None:
        while len(self._lists) and len(self._lists) + pages > self._memory:
            self._lists.evict()
            self.counts.evictions += 1


def _last_pages(references: References) -> dict[int, int]:
    files = references.pages // FILE_PAGES
    last = np.zeros(len(references.files), np.int64)
    np.maximum.at(last, files, references.pages)
    return dict(enumerate(last.tolist()))
