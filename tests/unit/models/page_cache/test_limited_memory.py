"""The page cache that a limit of memory leaves: files that count, and the memory of processes over time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from regatta.host.errors import RegattaError
from regatta.models.page_cache.cache import CacheSettings, simulate
from regatta.models.page_cache.limited import read_ahead_kib_of, simulate_within, under
from regatta.models.page_cache.operations import NONE, Kind, Operations, Recorder

PAGE, MIB = 4096, 1 << 20
LRU = CacheSettings(policy="lru", read_ahead_pages=0)


def cycles(pages: int, times: int) -> Operations:
    recorder = Recorder()
    recorder.file("/data/file", pages * PAGE)
    for row in range(pages * times):
        recorder.add(row, Kind.READ, 0, handle=0, offset=row % pages * PAGE, bytes=PAGE)
    return recorder.operations()


def test_no_limit_is_an_unlimited_cache() -> None:
    trace = cycles(100, 2)
    found = simulate_within(trace, None, LRU)
    assert found == simulate(trace, LRU)
    assert (found.read_misses, found.evictions) == (100, 0)


def test_memory_of_processes_is_not_left_for_files() -> None:
    # 1 MiB is 256 pages: 100 pages fit, unless the processes have more than 156 pages.
    trace = cycles(100, 2)
    assert simulate_within(trace, MIB, LRU).read_misses == 100
    busy = replace(trace, memory=((0, MIB - 99 * PAGE),))
    assert simulate_within(busy, MIB, LRU).read_misses == 200


def test_the_cache_shrinks_when_processes_grow() -> None:
    trace = cycles(100, 3)
    grows = replace(trace, memory=((0, 0), (100, MIB - 50 * PAGE), (200, 0)))
    found = simulate_within(grows, MIB, LRU)
    # The second cycle finds nothing, because LRU keeps the last 50 pages only; the third is as large as needed again.
    assert found.read_misses == 250


def test_some_pages_are_always_left() -> None:
    full = replace(cycles(10, 2), memory=((0, 2 * MIB),))
    assert simulate_within(full, MIB, LRU).read_misses == 10


def test_only_files_below_a_folder_count() -> None:
    recorder = Recorder()
    for name in ("/data/a", "/database/b", "/data/c/d"):
        recorder.file(name, PAGE)
    for row, file in enumerate((0, 1, 2, NONE)):
        recorder.add(row, Kind.STAT, file)
    found = under(recorder.operations(), Path("/data"))
    assert found["file"].tolist() == [0, 2, NONE]
    with pytest.raises(RegattaError, match="/other"):
        under(recorder.operations(), Path("/other"))


def test_the_read_ahead_of_a_disk_is_known_or_not(tmp_path: Path) -> None:
    assert read_ahead_kib_of(tmp_path) >= NONE
    assert read_ahead_kib_of(tmp_path / "missing") == NONE
