"""Simulate the page cache of a trace of file operations, and count the primitives: the application vector.

Source of the method: HBench:FS, in X. Zhang, Application-Specific Benchmarking, Harvard University 2001,
section 3.1.3.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from regatta.models.page_cache.operations import NONE, Kind, Operations
from regatta.models.page_cache.read_ahead import Stream
from regatta.models.page_cache.replacement import AHEAD, MARK, Lru, Policy, TwoLists

PAGE_BYTES = 4096
#: a page's number is its file's identity times this, plus its index in the file: files of up to 2^44 pages
FILE_PAGES = 1 << 44
_SHIFT = 12
#: of Linux for most disks
DEFAULT_READ_AHEAD_KIB = 128
#: the kernel's flusher looks for old pages every 5 s (vm.dirty_writeback_centisecs)
_FLUSH_EVERY_NS = 5_000_000_000

PolicyName = Literal["lru", "two-list"]


@dataclass(frozen=True)
class CacheSettings:
    """A page cache.

    Args:
        capacity_pages: most pages of 4 KiB in the cache, from 1; None: no limit.
        policy: which page leaves a full cache.
        read_ahead_pages: largest window; 0: no read-ahead. Linux: `read_ahead_kb` / 4, by default 32.
        large_folios: windows end at multiples of growing powers of two, as on file systems with large folios.
        dirty_limit: share of the capacity from 0 to 1 above which the oldest dirty pages are written
            (vm.dirty_background_ratio, 10 %).
        dirty_expire_s: age in seconds at which dirty pages are written (vm.dirty_expire_centisecs, 30 s).
    """

    capacity_pages: int | None = None
    policy: PolicyName = "two-list"
    read_ahead_pages: int = 32
    large_folios: bool = True
    dirty_limit: float = 0.1
    dirty_expire_s: float = 30.0

    def __post_init__(self) -> None:
        if self.capacity_pages is not None and self.capacity_pages < 1:
            raise ValueError(f"capacity_pages is {self.capacity_pages}, not 1 or more")
        if self.read_ahead_pages < 0:
            raise ValueError(f"read_ahead_pages is {self.read_ahead_pages}, not 0 or more")
        if not 0 <= self.dirty_limit <= 1 or not self.dirty_expire_s >= 0:
            raise ValueError("dirty_limit is not from 0 to 1, or dirty_expire_s is negative")
        if self.policy not in ("lru", "two-list"):
            raise ValueError(f"policy is {self.policy!r}, not 'lru' or 'two-list'")


@dataclass(slots=True)
class CacheCounts:
    """What the operations of a trace did to the cache. Counts of pages, unless they name operations.

    Every access to a page is one of the hits, misses or new pages below. A page that a read finds because it
    was read ahead is a hit. A page that a read asks for and that is not in the cache is a miss, though one
    wait of the disk may serve many.
    """

    read_hits: int = 0
    read_misses: int = 0
    map_hits: int = 0
    map_misses: int = 0
    write_hits: int = 0
    #: written whole, or behind the end of the file, and not in the cache: nothing is read
    write_new: int = 0
    #: written in part and not in the cache: the rest is read first
    write_misses: int = 0
    #: operations: reads of no bytes, at the end of a file
    reads_at_end: int = 0
    #: times that a read, map or write of a part had to start reading the disk and wait
    waits: int = 0
    #: pages that were read then, with the window of read-ahead
    waited_pages: int = 0
    #: windows that were read in the background
    background_windows: int = 0
    read_ahead: int = 0
    read_ahead_used: int = 0
    #: read ahead, and evicted or dropped before use
    read_ahead_lost: int = 0
    evictions: int = 0
    #: pages that were dirty when they were evicted; they are among `written`
    dirty_evictions: int = 0
    #: pages that were written because the cache was too small for them: evicted ones, and those above the
    #: limit of dirty pages
    pressed: int = 0
    #: pages written to the disk
    written: int = 0
    #: those of them for which a program waited: fsync and the like
    synced: int = 0
    #: pages removed by unlink, rename or truncate while dirty: never written
    never_written: int = 0
    dropped: int = 0
    #: operations by kind; a file is cold until the trace first meets it
    opens_cold: int = 0
    opens_warm: int = 0
    opens_failed: int = 0
    creates: int = 0
    stats_cold: int = 0
    stats_warm: int = 0
    stats_failed: int = 0
    unlinks: int = 0
    renames: int = 0
    truncates: int = 0
    syncs: int = 0
    #: those of them that wrote pages
    writing_syncs: int = 0
    closes: int = 0
    #: operations of other kinds that failed
    failed: int = 0

    @property
    def reads(self) -> int:
        """Pages that reads and maps accessed."""
        return self.read_hits + self.read_misses + self.map_hits + self.map_misses

    @property
    def accesses(self) -> int:
        """Pages accessed."""
        return self.reads + self.write_hits + self.write_new + self.write_misses

    @property
    def fetched(self) -> int:
        """Pages read from the disk."""
        return self.read_misses + self.map_misses + self.write_misses + self.read_ahead

    @property
    def background_pages(self) -> int:
        """Pages that were read while the program went on."""
        return self.fetched - self.waited_pages

    @property
    def hit_ratio(self) -> float:
        """Share of the pages that reads (not maps) found in the cache; NaN without reads."""
        total = self.read_hits + self.read_misses
        return self.read_hits / total if total else float("nan")

    def vector(self) -> dict[str, int]:
        """Return the application vector: primitive -> number of times."""
        return asdict(self)


def simulate(
    operations: Operations, settings: CacheSettings, capacities: Sequence[tuple[int, int]] = ()
) -> CacheCounts:
    """Run a trace through a cache that is empty at its start; dirty pages of its end remain unwritten.

    Args:
        capacities: changes of the capacity, in the order of time: (ns since 1970, pages). What programs do
            not use for themselves is left for the cache, so its capacity changes while they run.
    """
    cache = PageCache(settings)
    cache.run(operations, capacities)
    return cache.counts


class PageCache:
    """A page cache. At another `run`, the cache is still warm, and `counts` continues unless it is replaced.

    Simplified: one file system; metadata (inodes, directories, journal) takes no room; the inode of a file
    stays in memory once it was met; a mapped range is read once, whole, when it is mapped; advice by
    posix_fadvise is not known.
    """

    def __init__(self, settings: CacheSettings) -> None:
        self.settings = settings
        self.counts = CacheCounts()
        self.policy: Policy = Lru() if settings.policy == "lru" else TwoLists()
        self._capacity: int | None = None
        self._dirty_most: int | None = None
        self.resize(settings.capacity_pages)
        self._most = settings.read_ahead_pages
        self._expire_ns = int(settings.dirty_expire_s * 1e9)
        self._next_flush_ns = 0
        #: dirty page -> when it became dirty; oldest first
        self._dirty: OrderedDict[int, int] = OrderedDict()
        #: pages of a file that were ever in the cache lie below this index
        self._ends: dict[int, int] = {}
        self._streams: dict[int, Stream] = {}
        self._known: set[int] = set()
        self._sizes: dict[int, int] = {}
        #: number of open descriptions of a file; a file without names loses its pages with the last
        self._open: dict[int, int] = {}
        self._nameless: set[int] = set()

    def __len__(self) -> int:
        return len(self.policy)

    @property
    def dirty_pages(self) -> int:
        """Dirty pages in the cache."""
        return len(self._dirty)

    def resize(self, capacity_pages: int | None) -> None:
        """Change the capacity, from 1 page; None: no limit. Pages leave until the rest fits."""
        if capacity_pages is not None and capacity_pages < 1:
            raise ValueError(f"capacity_pages is {capacity_pages}, not 1 or more")
        self._capacity = capacity_pages
        self._dirty_most = None if capacity_pages is None else int(capacity_pages * self.settings.dirty_limit)
        if capacity_pages is not None:
            while len(self.policy) > capacity_pages:
                self._evict()

    def run(self, operations: Operations, capacities: Sequence[tuple[int, int]] = ()) -> None:
        """Apply the operations of a trace in order; see `simulate`."""
        changes = iter(capacities)
        change = next(changes, None)
        self._sizes = _sizes(operations)
        self._streams.clear()
        self._open.clear()
        names = ("time_ns", "kind", "file", "handle", "offset", "bytes", "peer", "failed")
        read, write, map_, close = int(Kind.READ), int(Kind.WRITE), int(Kind.MAP), int(Kind.CLOSE)
        for time, kind, file, handle, offset, count, peer, failed in zip(
            *(operations[name].tolist() for name in names), strict=True
        ):
            while change is not None and change[0] <= time:
                self.resize(change[1])
                change = next(changes, None)
            if time >= self._next_flush_ns:
                self._flush_old(time)
            if failed:
                self._failed(kind)
            elif kind == read:
                if count:
                    self._read(file, handle, offset, count)
                else:
                    self.counts.reads_at_end += 1
            elif kind == write:
                self._write(file, offset, count, time)
            elif kind == map_:
                self._map(file, offset, count)
            elif kind == close:
                self._close(file, handle)
            else:
                self._name(kind, file, offset, count, peer)

    # reads

    def _read(self, file: int, handle: int, offset: int, count: int) -> None:
        stream = self._streams.get(handle)
        if stream is None:
            stream = Stream()
            if handle != NONE:
                self._streams[handle] = stream
        base = file * FILE_PAGES
        first, end = base + (offset >> _SHIFT), base + (offset + count - 1 >> _SHIFT) + 1
        page = first
        misses = 0
        policy = self.policy
        touch = policy.touch
        if stream.position > 0 and base + (stream.position - 1 >> _SHIFT) == first:
            # A read that goes on within a page is no second access (filemap_read).
            page += policy.read_on(first)
        while page < end:
            page = touch(page, end)
            if page == end:
                break
            flags = policy.flags(page)
            if flags is None:
                page, missed = self._miss(stream, base, page, end)
                misses += missed
                continue
            policy.clear(page, AHEAD | MARK)
            if flags & AHEAD:
                self.counts.read_ahead_used += 1
            if flags & MARK:
                self._next_window(stream, base, page, end - page)
                if policy.flags(page) is None:
                    # The window displaced the page, which was found before.
                    page += 1
        stream.position = offset + count
        self.counts.read_misses += misses
        self.counts.read_hits += end - first - misses

    def _miss(self, stream: Stream, base: int, page: int, end: int) -> tuple[int, int]:
        """Read an absent page with its window. Return the page after what was read, and the misses."""
        before = self.counts.read_ahead
        asked, misses = self._read_window(stream, base, page, end)
        self.counts.waits += 1
        self.counts.waited_pages += misses + self.counts.read_ahead - before
        return asked, misses

    def _read_window(self, stream: Stream, base: int, page: int, end: int) -> tuple[int, int]:
        index, pages, most = page - base, end - page, self._most
        if most == 0:
            return self._fetch(page, end, end, NONE)
        previous = stream.position >> _SHIFT if stream.position >= 0 else NONE
        if index == 0 or pages > most or (previous >= 0 and 0 <= index - previous <= 1):
            stream.begins(index, pages, most)
        else:
            cached = self._history(base, index, most)
            if cached <= pages:
                # A random read is read as it is (page_cache_sync_ra).
                return self._fetch(page, end, end, NONE)
            stream.continues(index, 2 * cached if cached == index else cached, pages, most)
        return self._fetch(page, min(end, page + stream.size), page + stream.size, base + stream.mark)

    def _history(self, base: int, index: int, most: int) -> int:
        """Return the number of pages in the cache directly before `index`, at most `most`."""
        flags = self.policy.flags
        for one in range(index - 1, max(index - 1 - most, -1), -1):
            if flags(base + one) is None:
                return index - 1 - one
        return min(index, most)

    def _next_window(self, stream: Stream, base: int, page: int, pages: int) -> None:
        """Read the next window in the background, because the mark was read."""

        def is_cached(index: int) -> bool:
            return self.policy.flags(base + index) is not None

        if not stream.follows(page - base, pages, self._most, self.settings.large_folios, is_cached):
            return
        first = base + stream.start
        before = self.counts.read_ahead
        self._fetch(first, first, first + stream.size, base + stream.mark)
        self.counts.background_windows += self.counts.read_ahead > before

    def _fetch(self, page: int, asked: int, end: int, mark: int) -> tuple[int, int]:
        """Read absent pages up to `end` - 1; those from `asked` up to the end of the file are read ahead."""
        policy, misses = self.policy, 0
        file = page // FILE_PAGES
        for one in range(page, asked):
            flags = policy.flags(one)
            if flags is None:
                misses += 1
                self._add(one, 0, True, False)
            else:
                if flags & AHEAD:
                    self.counts.read_ahead_used += 1
                policy.clear(one, AHEAD | MARK)
                policy.touch(one, one + 1)
        end = min(end, file * FILE_PAGES + (self._sizes[file] + PAGE_BYTES - 1 >> _SHIFT))
        self._reaches(max(asked, end))
        for one in range(asked, end):
            if policy.flags(one) is None:
                self.counts.read_ahead += 1
                self._add(one, AHEAD | MARK if one == mark else AHEAD, False, False)
        return asked, misses

    def _map(self, file: int, offset: int, count: int) -> None:
        """Read a mapped range, without read-ahead: the range already is the most that faults can read."""
        count = min(count, self._sizes[file] - offset)
        if count <= 0:
            return
        base = file * FILE_PAGES
        first, end = base + (offset >> _SHIFT), base + (offset + count - 1 >> _SHIFT) + 1
        page, misses, policy = first, 0, self.policy
        self._reaches(end)
        while (page := policy.touch(page, end)) < end:
            flags = policy.flags(page)
            if flags is None:
                self._add(page, 0, True, False)
                misses += 1
                page += 1
            else:
                self.counts.read_ahead_used += bool(flags & AHEAD)
                policy.clear(page, AHEAD | MARK)
        self.counts.waits += misses > 0
        self.counts.waited_pages += misses
        self.counts.map_misses += misses
        self.counts.map_hits += end - first - misses

    # writes

    def _write(self, file: int, offset: int, count: int, time: int) -> None:
        if count == 0:
            return
        policy, counts, dirty = self.policy, self.counts, self._dirty
        size = self._sizes[file]
        base = file * FILE_PAGES
        first, last = base + (offset >> _SHIFT), base + (offset + count - 1 >> _SHIFT)
        self._reaches(last + 1)
        for page in range(first, last + 1):
            flags = policy.flags(page)
            if flags is None:
                begin = (page - base) << _SHIFT
                whole = offset <= begin and offset + count >= min(begin + PAGE_BYTES, size)
                if whole or begin >= size:
                    counts.write_new += 1
                else:
                    counts.write_misses += 1
                    counts.waits += 1
                    counts.waited_pages += 1
                self._add(page, 0, True, True)
            else:
                counts.write_hits += 1
                if flags & AHEAD:
                    counts.read_ahead_used += 1
                    policy.clear(page, AHEAD)
                policy.write(page)
            if page not in dirty:
                dirty[page] = time
        if offset + count > size:
            self._sizes[file] = offset + count
        if self._dirty_most is not None and len(dirty) > self._dirty_most:
            while len(dirty) > self._dirty_most:
                dirty.popitem(last=False)
                counts.written += 1
                counts.pressed += 1

    def _flush_old(self, time: int) -> None:
        """Write the pages that have been dirty for long."""
        self._next_flush_ns = time + _FLUSH_EVERY_NS
        dirty = self._dirty
        while dirty and next(iter(dirty.values())) <= time - self._expire_ns:
            dirty.popitem(last=False)
            self.counts.written += 1

    def _sync(self, file: int) -> None:
        mine = list(self._dirty) if file == NONE else self._pages_of(file, 0, self._dirty)
        for page in mine:
            del self._dirty[page]
        self.counts.written += len(mine)
        self.counts.synced += len(mine)
        self.counts.writing_syncs += bool(mine)

    # pages

    def _add(self, page: int, flags: int, accessed: bool, written: bool) -> None:
        policy = self.policy
        if self._capacity is not None and len(policy) >= self._capacity:
            self._evict()
        policy.add(page, flags, accessed, written)

    def _evict(self) -> None:
        page, flags = self.policy.evict()
        counts = self.counts
        counts.evictions += 1
        counts.read_ahead_lost += bool(flags & AHEAD)
        if self._dirty.pop(page, None) is not None:
            counts.dirty_evictions += 1
            counts.written += 1
            counts.pressed += 1

    def _drop(self, file: int, size_bytes: int = 0) -> None:
        """Remove the pages of a file from `size_bytes`."""
        gone = self._pages_of(file, size_bytes + PAGE_BYTES - 1 >> _SHIFT, self.policy.pages())
        for page in gone:
            flags = self.policy.drop(page)
            self.counts.read_ahead_lost += bool(flags & AHEAD)
            self.counts.never_written += self._dirty.pop(page, None) is not None
        self.counts.dropped += len(gone)

    def _pages_of(self, file: int, index: int, among: Mapping[int, int]) -> list[int]:
        """Return the pages of a file from `index` that are among others; search the shorter of the two."""
        base = file * FILE_PAGES
        first, end = base + index, base + self._ends.get(file, 0)
        if end - first < len(among):
            return [page for page in range(first, end) if page in among]
        return [page for page in among if first <= page < end]

    def _reaches(self, page: int) -> None:
        """Note the end of a range of pages that may enter the cache."""
        file, index = divmod(page, FILE_PAGES)
        if self._ends.get(file, 0) < index:
            self._ends[file] = index

    # names

    def _name(self, kind: int, file: int, offset: int, count: int, peer: int) -> None:
        """Apply an operation on a name or an inode."""
        counts = self.counts
        warm = file in self._known
        if file != NONE and not warm:
            self._known.add(file)
        if kind == Kind.STAT:
            counts.stats_warm += warm
            counts.stats_cold += not warm
        elif kind == Kind.OPEN:
            counts.opens_warm += warm
            counts.opens_cold += not warm
            self._open[file] = self._open.get(file, 0) + 1
        elif kind == Kind.CREATE:
            counts.creates += 1
            self._open[file] = self._open.get(file, 0) + 1
        elif kind == Kind.UNLINK:
            counts.unlinks += 1
            if count == 0:
                self._loses_name(file)
        elif kind == Kind.RENAME:
            counts.renames += 1
            if peer != NONE:
                self._loses_name(peer)
        elif kind == Kind.TRUNCATE:
            counts.truncates += 1
            self._sizes[file] = offset
            self._drop(file, offset)
        elif kind == Kind.FSYNC:
            counts.syncs += 1
            self._sync(file)

    def _loses_name(self, file: int) -> None:
        if self._open.get(file, 0) > 0:
            self._nameless.add(file)
        else:
            self._drop(file)

    def _close(self, file: int, handle: int) -> None:
        self.counts.closes += 1
        self._streams.pop(handle, None)
        left = self._open.get(file, 0) - 1
        self._open[file] = max(left, 0)
        if left <= 0 and file in self._nameless:
            self._nameless.discard(file)
            self._drop(file)

    def _failed(self, kind: int) -> None:
        if kind == Kind.OPEN:
            self.counts.opens_failed += 1
        elif kind == Kind.STAT:
            self.counts.stats_failed += 1
        else:
            self.counts.failed += 1


def _sizes(operations: Operations) -> dict[int, int]:
    """Return the size of each file at the start; an unknown one is the end of reads, or else of maps."""
    sizes = dict(enumerate(operations.sizes_bytes.tolist()))
    unknown = {file for file, size in sizes.items() if size == NONE}
    if unknown:
        for kind in (Kind.READ, Kind.MAP):
            rows = operations["kind"] == kind
            ends = (operations["offset"] + operations["bytes"])[rows].tolist()
            found: dict[int, int] = {}
            for file, end in zip(operations["file"][rows].tolist(), ends, strict=True):
                if file in unknown:
                    found[file] = max(found.get(file, 0), end)
            sizes.update(found)
            unknown -= found.keys()
    return {file: max(size, 0) for file, size in sizes.items()}
