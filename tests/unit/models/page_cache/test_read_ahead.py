"""Read-ahead: windows that Linux 6.18 was seen to read, on ext4 with read_ahead_kb 8192 (2048 pages)."""

from __future__ import annotations

import pytest

from regatta.models.page_cache.cache import CacheSettings, PageCache
from regatta.models.page_cache.operations import Kind, Operations, Recorder
from regatta.models.page_cache.read_ahead import initial_size, next_size

PAGE = 4096
OBSERVED = CacheSettings(read_ahead_pages=2048)


def reads(pages: list[tuple[int, int]], size_pages: int = 16384) -> Operations:
    """Reads of (first page, number of pages) through one handle."""
    recorder = Recorder()
    file = recorder.file("/big", size_pages * PAGE)
    for time, (page, count) in enumerate(pages):
        recorder.add(time, Kind.READ, file, handle=0, offset=page * PAGE, bytes=count * PAGE)
    return recorder.operations()


def cached(cache: PageCache) -> list[tuple[int, int]]:
    """Runs of pages in the cache: (first, number)."""
    found: list[tuple[int, int]] = []
    for page in sorted(cache.policy.pages()):
        if found and sum(found[-1]) == page:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((page, 1))
    return found


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        ([(0, 1)], [(0, 4)]),
        ([(0, 16)], [(0, 64)]),
        ([(0, 256)], [(0, 512)]),
        ([(1000, 1), (5000, 1), (3000, 1)], [(1000, 1), (3000, 1), (5000, 1)]),
        ([(1000, 4), (5000, 4)], [(1000, 4), (5000, 4)]),
        ([(page, 1) for page in range(2)], [(0, 20)]),
        ([(page, 1) for page in range(5)], [(0, 80)]),
        ([(1000, 1), (1001, 1)], [(1000, 5)]),
        ([(page, 1) for page in range(1000, 1003)], [(1000, 20)]),
        ([(page, 1) for page in range(1000, 1006)], [(1000, 72)]),
        ([(page, 16) for page in range(0, 32, 16)], [(0, 320)]),
        ([(page, 16) for page in range(0, 80, 16)], [(0, 832)]),
    ],
)
def test_windows_are_those_of_linux(pages: list[tuple[int, int]], expected: list[tuple[int, int]]) -> None:
    cache = PageCache(OBSERVED)
    cache.run(reads(pages))
    assert cached(cache) == expected


@pytest.mark.parametrize(
    ("pages", "most", "expected"),
    [(1, 32, 4), (2, 32, 4), (3, 32, 8), (8, 32, 16), (9, 32, 32), (40, 32, 32), (1, 2048, 4)],
)
def test_the_first_window_grows_with_the_read(pages: int, most: int, expected: int) -> None:
    assert initial_size(pages, most) == expected


@pytest.mark.parametrize(
    ("size", "most", "expected"), [(1, 32, 4), (2, 32, 4), (16, 32, 32), (17, 32, 32), (32, 32, 32)]
)
def test_windows_double_up_to_the_largest(size: int, most: int, expected: int) -> None:
    assert next_size(size, most) == expected


def test_read_ahead_ends_with_the_file() -> None:
    cache = PageCache(OBSERVED)
    cache.run(reads([(0, 1)], size_pages=2))
    assert cached(cache) == [(0, 2)]


def test_used_and_lost_pages_are_counted() -> None:
    cache = PageCache(CacheSettings(6, "lru", read_ahead_pages=32))
    cache.run(reads([(0, 1), (2, 1)]))
    assert (cache.counts.read_ahead, cache.counts.read_ahead_used) == (3, 1)
    # Six other pages displace all four; two of them were never used.
    cache.run(reads([(page, 1) for page in range(100, 700, 100)]))
    assert (cache.counts.read_ahead, cache.counts.read_ahead_lost, cache.counts.evictions) == (3, 2, 4)


def test_a_sequential_read_waits_once() -> None:
    cache = PageCache(CacheSettings(read_ahead_pages=32))
    cache.run(reads([(page, 1) for page in range(1000)], size_pages=1000))
    counts = cache.counts
    assert (counts.waits, counts.read_misses, counts.read_hits) == (1, 1, 999)
    assert (counts.fetched, counts.read_ahead_used) == (1000, 999)


def test_a_stream_continues_on_cached_history() -> None:
    """Pages that another handle left before a miss make it a sequential one."""
    recorder = Recorder()
    file = recorder.file("/big", 16384 * PAGE)
    recorder.add(0, Kind.READ, file, handle=0, offset=100 * PAGE, bytes=8 * PAGE)
    recorder.add(1, Kind.READ, file, handle=1, offset=108 * PAGE, bytes=PAGE)
    cache = PageCache(OBSERVED)
    cache.run(recorder.operations())
    assert cached(cache) == [(100, 17)]


def test_a_new_handle_begins_without_history() -> None:
    recorder = Recorder()
    file = recorder.file("/big", 16384 * PAGE)
    recorder.add(0, Kind.READ, file, handle=0, offset=100 * PAGE, bytes=PAGE)
    recorder.add(1, Kind.READ, file, handle=1, offset=102 * PAGE, bytes=PAGE)
    cache = PageCache(OBSERVED)
    cache.run(recorder.operations())
    assert cached(cache) == [(100, 1), (102, 1)]
