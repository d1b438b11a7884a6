"""The page cache: examples worked by hand, a plain LRU beside it, and properties of all caches."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.models.page_cache.cache import (
    FILE_PAGES,
    CacheCounts,
    CacheSettings,
    PageCache,
    PolicyName,
    simulate,
)
from regatta.models.page_cache.operations import Kind, Operations, Recorder
from regatta.models.page_cache.replacement import Lru, TwoLists
from regatta.models.page_cache.stack_distances import page_accesses, stack_distances

PAGE = 4096
PLAIN = CacheSettings(policy="lru", read_ahead_pages=0)
POLICIES: tuple[PolicyName, ...] = ("lru", "two-list")

Row = tuple[Kind, int, int, int]


def trace(
    *rows: Row, sizes: tuple[int, ...] = (1 << 30, 1 << 30, 1 << 30), step_ns: int = 1000
) -> Operations:
    """Operations of (kind, file, offset, bytes); each file has one handle with its number."""
    recorder = Recorder()
    for size in sizes:
        recorder.file("/f", size)
    for row, (kind, file, offset, count) in enumerate(rows):
        recorder.add(row * step_ns, kind, file, handle=file, offset=offset, bytes=count)
    return recorder.operations()


def reads(*pages: int) -> Operations:
    """Reads of one page each, far apart, so that none goes on from another."""
    return trace(*((Kind.READ, 0, page * PAGE, PAGE) for page in pages))


def nonzero(counts: CacheCounts) -> dict[str, int]:
    return {name: value for name, value in counts.vector().items() if value}


def test_lru_by_hand() -> None:
    # 10 20 30 | 10 hits | 40 evicts 20 | 20 evicts 30 | 10 hits
    counts = simulate(reads(10, 20, 30, 10, 40, 20, 10), replace(PLAIN, capacity_pages=3))
    assert nonzero(counts) == {
        "read_hits": 2,
        "read_misses": 5,
        "waits": 5,
        "waited_pages": 5,
        "evictions": 2,
    }
    assert counts.hit_ratio == pytest.approx(2 / 7)


def test_no_reads_have_no_hit_ratio() -> None:
    assert np.isnan(simulate(trace(), PLAIN).hit_ratio)


def test_a_read_touches_every_page_of_its_range() -> None:
    counts = simulate(trace((Kind.READ, 0, 4095, 2), (Kind.READ, 0, 0, 3 * PAGE)), PLAIN)
    assert nonzero(counts) == {"read_hits": 2, "read_misses": 3, "waits": 2, "waited_pages": 3}


def test_a_read_of_nothing_is_the_end_of_the_file() -> None:
    assert nonzero(simulate(trace((Kind.READ, 0, 9, 0)), PLAIN)) == {"reads_at_end": 1}


def test_two_lists_keep_pages_that_were_read_twice() -> None:
    """A scan evicts everything from LRU, but not the active pages of the two lists."""
    hot = [100, 200, 100, 200]
    scan = [1000 + 10 * page for page in range(20)]
    twice = reads(*hot, *scan, 100, 200)
    lists, lru = (
        simulate(twice, CacheSettings(8, policy=policy, read_ahead_pages=0)).read_hits
        for policy in POLICIES[::-1]
    )
    assert (lists, lru) == (4, 2)


def test_two_lists_by_hand() -> None:
    lists = TwoLists()
    for page in (1, 2):
        lists.add(page, 0, True, False)
    assert lists.touch(1, 2) == 2  # second read: 1 is active; age 1
    lists.add(3, 0, True, False)
    # inactive 2 3, active 1
    assert lists.evict()[0] == 2  # shadow 1, age 2
    # inactive 3, active 1: 2 returns at distance 2 - 1 = 1, which is not more than one active page
    lists.add(2, 0, True, False)
    assert (lists.refaults, lists.activations) == (1, 2)
    # inactive 3, active 1 2: 1 becomes inactive behind 3
    assert [lists.evict()[0] for _ in range(3)] == [3, 1, 2]


def test_a_page_that_returns_late_is_not_activated() -> None:
    lists = TwoLists()
    for page in (1, 2, 3):
        lists.add(page, 0, True, False)
    for _ in range(3):
        lists.evict()
    lists.add(1, 0, True, False)
    assert (lists.refaults, lists.activations) == (1, 0)


def test_writes_make_no_page_active() -> None:
    """As observed on Linux 6.18: after three passes of writes, active_file of the control group is 0."""
    cache = PageCache(CacheSettings(read_ahead_pages=0))
    cache.run(trace(*[(Kind.WRITE, 0, page * PAGE, PAGE) for page in range(4)] * 3))
    lists = cache.policy
    assert isinstance(lists, TwoLists)
    assert lists.activations == 0


def test_small_reads_within_a_page_are_one_access() -> None:
    """As observed on Linux 6.18: one pass of reads of 1 KiB leaves active_file at 0."""
    rows = [(Kind.READ, 0, part * 1024, 1024) for part in range(16)]
    cache = PageCache(CacheSettings(read_ahead_pages=0))
    cache.run(trace(*rows))
    lists = cache.policy
    assert isinstance(lists, TwoLists)
    assert lists.activations == 0
    assert nonzero(cache.counts) == {"read_hits": 12, "read_misses": 4, "waits": 4, "waited_pages": 4}
    cache.run(trace(*rows))
    assert lists.activations == 4


# writes


def test_writes_count_hits_new_pages_and_pages_that_are_read_first() -> None:
    counts = simulate(
        trace(
            (Kind.WRITE, 0, 0, PAGE),  # whole page
            (Kind.WRITE, 0, 10, 10),  # in the cache
            (Kind.WRITE, 0, PAGE + 1, 10),  # part of a page of the file
            (Kind.WRITE, 0, 2 * PAGE, 100),  # all of the last page's contents
            (Kind.WRITE, 0, 4 * PAGE + 1, 10),  # behind the end
            sizes=(2 * PAGE + 100,),
        ),
        PLAIN,
    )
    assert nonzero(counts) == {
        "write_hits": 1,
        "write_new": 3,
        "write_misses": 1,
        "waits": 1,
        "waited_pages": 1,
    }
    assert counts.fetched == 1
    assert counts.accesses == 5


def test_a_read_finds_what_was_written() -> None:
    counts = simulate(trace((Kind.WRITE, 0, 0, 2 * PAGE), (Kind.READ, 0, 0, 2 * PAGE), sizes=(0,)), PLAIN)
    assert nonzero(counts) == {"write_new": 2, "read_hits": 2}


def test_dirty_pages_are_written_above_the_limit() -> None:
    cache = PageCache(replace(PLAIN, capacity_pages=100, dirty_limit=0.1))
    cache.run(trace(*((Kind.WRITE, 0, page * PAGE, PAGE) for page in range(25)), sizes=(0,)))
    assert (cache.counts.written, cache.dirty_pages, cache.counts.evictions) == (15, 10, 0)


def test_dirty_pages_are_written_when_they_are_old() -> None:
    second = 1_000_000_000
    rows: list[Row] = [(Kind.WRITE, 0, 0, PAGE), *[(Kind.STAT, 0, 0, 0)] * 29]
    cache = PageCache(PLAIN)
    cache.run(trace(*rows, step_ns=second))
    assert cache.counts.written == 0
    cache = PageCache(PLAIN)
    cache.run(trace(*rows, *[(Kind.STAT, 0, 0, 0)] * 6, step_ns=second))
    assert (cache.counts.written, cache.dirty_pages) == (1, 0)


def test_fsync_writes_the_pages_of_its_file() -> None:
    rows: list[Row] = [
        (Kind.WRITE, 0, 0, 3 * PAGE),
        (Kind.WRITE, 1, 0, 2 * PAGE),
        (Kind.WRITE, 0, 0, PAGE),
        (Kind.FSYNC, 0, 0, 0),
        (Kind.FSYNC, 0, 0, 0),
    ]
    cache = PageCache(PLAIN)
    cache.run(trace(*rows))
    assert (cache.counts.written, cache.dirty_pages) == (3, 2)
    cache = PageCache(PLAIN)
    cache.run(trace(*rows, (Kind.FSYNC, -1, 0, 0)))
    assert (cache.counts.written, cache.dirty_pages) == (5, 0)


def test_dirty_pages_are_written_when_they_are_evicted() -> None:
    settings = replace(PLAIN, capacity_pages=2, dirty_limit=1)
    counts = simulate(trace((Kind.WRITE, 0, 0, 5 * PAGE)), settings)
    assert (counts.evictions, counts.dirty_evictions, counts.written) == (3, 3, 3)


# names


@pytest.mark.parametrize("policy", POLICIES)
def test_unlink_drops_the_pages_of_its_file_only(policy: PolicyName) -> None:
    cache = PageCache(replace(PLAIN, policy=policy))
    cache.run(
        trace(
            (Kind.WRITE, 0, 0, 3 * PAGE),
            (Kind.READ, 1, 0, 2 * PAGE),
            (Kind.UNLINK, 0, 0, 0),
            sizes=(0, 1 << 20),
        )
    )
    assert (len(cache), cache.counts.dropped, cache.counts.never_written, cache.dirty_pages) == (2, 3, 3, 0)


def test_an_unlinked_file_keeps_its_pages_until_it_is_closed() -> None:
    rows: list[Row] = [
        (Kind.CREATE, 0, 0, 0),
        (Kind.WRITE, 0, 0, PAGE),
        (Kind.UNLINK, 0, 0, 0),
        (Kind.READ, 0, 0, PAGE),
    ]
    cache = PageCache(PLAIN)
    cache.run(trace(*rows, sizes=(0,)))
    assert (len(cache), cache.counts.read_hits) == (1, 1)
    cache = PageCache(PLAIN)
    cache.run(trace(*rows, (Kind.CLOSE, 0, 0, 0), sizes=(0,)))
    assert (len(cache), cache.counts.dropped) == (0, 1)


def test_a_file_with_another_name_keeps_its_pages() -> None:
    cache = PageCache(PLAIN)
    cache.run(trace((Kind.READ, 0, 0, PAGE), (Kind.UNLINK, 0, 0, 1)))
    assert (len(cache), cache.counts.unlinks) == (1, 1)


def test_a_rename_drops_the_file_that_it_replaces() -> None:
    recorder = Recorder()
    for time, file in enumerate((recorder.file("/a", PAGE), recorder.file("/b", PAGE))):
        recorder.add(time, Kind.READ, file, bytes=PAGE)
    recorder.add(9, Kind.RENAME, 0, peer=1)
    cache = PageCache(PLAIN)
    cache.run(recorder.operations())
    assert list(cache.policy.pages()) == [0]


def test_truncate_drops_the_pages_behind_the_new_end() -> None:
    cache = PageCache(PLAIN)
    cache.run(trace((Kind.READ, 0, 0, 5 * PAGE), (Kind.TRUNCATE, 0, PAGE + 1, 0)))
    assert sorted(cache.policy.pages()) == [0, 1]


def test_the_vector_counts_operations_on_names() -> None:
    recorder = Recorder()
    file = recorder.file("/a", 100)
    kinds = [Kind.STAT, Kind.STAT, Kind.OPEN, Kind.CLOSE, Kind.RENAME, Kind.TRUNCATE, Kind.UNLINK]
    for time, kind in enumerate(kinds):
        recorder.add(time, kind, file)
    recorder.add(8, Kind.OPEN, recorder.file("/b", 100))
    recorder.add(9, Kind.CREATE, recorder.file("/c", 0))
    for time, kind in enumerate((Kind.STAT, Kind.OPEN, Kind.OPEN, Kind.UNLINK)):
        recorder.add(10 + time, kind, failed=True)
    assert nonzero(simulate(recorder.operations(), PLAIN)) == {
        "stats_cold": 1, "stats_warm": 1, "opens_warm": 1, "opens_cold": 1, "closes": 1, "renames": 1, "truncates": 1,
        "unlinks": 1, "creates": 1, "stats_failed": 1, "opens_failed": 2, "failed": 1,
    }  # fmt: skip


def test_a_mapped_range_counts_apart_and_ends_with_its_file() -> None:
    rows = [(Kind.MAP, 0, 0, 10 * PAGE), (Kind.MAP, 0, PAGE, PAGE), (Kind.MAP, 0, 8 * PAGE, PAGE)]
    counts = simulate(trace(*rows, sizes=(3 * PAGE + 5,)), CacheSettings())
    assert nonzero(counts) == {"map_misses": 4, "map_hits": 1, "waits": 1, "waited_pages": 4}


def test_an_unknown_size_is_the_end_of_the_last_read() -> None:
    counts = simulate(trace((Kind.READ, 0, 0, PAGE), sizes=(-1,)), CacheSettings())
    assert nonzero(counts) == {"read_misses": 1, "waits": 1, "waited_pages": 1}


@pytest.mark.parametrize(
    "wrong",
    [
        {"capacity_pages": 0},
        {"read_ahead_pages": -1},
        {"dirty_limit": 2},
        {"dirty_limit": float("nan")},
        {"dirty_expire_s": -1},
        {"policy": "fifo"},
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        CacheSettings(**wrong)


# a plain LRU beside it

pages_of_reads = st.lists(st.integers(0, 12), max_size=80)
rows_of_data = st.lists(
    st.tuples(
        st.sampled_from((Kind.READ, Kind.WRITE, Kind.MAP)),
        st.integers(0, 2),
        st.integers(0, 8 * PAGE),
        st.integers(0, 3 * PAGE),
    ),
    max_size=40,
)


def plain_lru(pages: list[int], capacity: int) -> int:
    """Hits of LRU, as a textbook has it."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for page in pages:
        if page in cache:
            hits += 1
            cache.move_to_end(page)
        else:
            if len(cache) == capacity:
                cache.popitem(last=False)
            cache[page] = None
    return hits


def all_hits(counts: CacheCounts) -> int:
    return counts.read_hits + counts.map_hits + counts.write_hits


@given(rows_of_data, st.integers(1, 14))
def test_lru_agrees_with_a_plain_one_and_with_the_stack_distances(rows: list[Row], capacity: int) -> None:
    operations = trace(*rows)
    pages = page_accesses(operations)
    counts = simulate(operations, replace(PLAIN, capacity_pages=capacity))
    expected = plain_lru(pages.tolist(), capacity)
    assert all_hits(counts) == expected
    distances = stack_distances(pages)
    assert np.count_nonzero((distances > 0) & (distances <= capacity)) == expected


@given(pages_of_reads)
def test_stack_distances_are_the_distinct_pages_since_the_last_access(pages: list[int]) -> None:
    expected = []
    for now, page in enumerate(pages):
        last = next((then for then in range(now - 1, -1, -1) if pages[then] == page), None)
        expected.append(0 if last is None else len(set(pages[last:now])))
    assert stack_distances(np.array(pages, np.int64)).tolist() == expected


def test_stack_distances_by_hand() -> None:
    # a b c b a: b returns past b c, a past a b c
    assert stack_distances(np.array([7, 8, 9, 8, 7])).tolist() == [0, 0, 0, 2, 3]


def test_maps_end_with_their_file_in_the_curve() -> None:
    rows: list[Row] = [
        (Kind.MAP, 0, PAGE, 1 << 40),
        (Kind.MAP, 1, PAGE, PAGE),
        (Kind.WRITE, 1, 0, PAGE + 1),
        (Kind.MAP, 1, 9 * PAGE, 1),
    ]
    pages = page_accesses(trace(*rows, sizes=(2 * PAGE + 1, 0)))
    assert pages.tolist() == [1, 2, FILE_PAGES + 1, FILE_PAGES, FILE_PAGES + 1]


def test_no_accesses_have_no_distances() -> None:
    assert stack_distances(np.zeros(0, np.int64)).tolist() == []


@given(rows_of_data)
def test_hits_of_lru_never_fall_with_the_capacity(rows: list[Row]) -> None:
    operations = trace(*rows)
    hits = [
        all_hits(simulate(operations, replace(PLAIN, capacity_pages=size)))
        for size in (1, 2, 3, 5, 8, 13, 40)
    ]
    assert hits == sorted(hits)


settings = st.builds(
    CacheSettings,
    capacity_pages=st.none() | st.integers(1, 20),
    policy=st.sampled_from(POLICIES),
    read_ahead_pages=st.sampled_from((0, 1, 2, 4, 32)),
    large_folios=st.booleans(),
    dirty_limit=st.sampled_from((0, 0.1, 1)),
    dirty_expire_s=st.sampled_from((0, 30)),
)
rows_of_all = st.lists(
    st.tuples(st.sampled_from(Kind), st.integers(0, 2), st.integers(0, 8 * PAGE), st.integers(0, 3 * PAGE)),
    max_size=60,
)


@given(rows_of_all, settings, st.sampled_from((0, PAGE + 1, 1 << 20)))
def test_pages_are_conserved_in_every_cache(rows: list[Row], kind_of_cache: CacheSettings, size: int) -> None:
    operations = trace(*rows, sizes=(size,) * 3, step_ns=2_000_000_000)
    cache = PageCache(kind_of_cache)
    cache.run(operations)
    counts = cache.counts
    entered = counts.fetched + counts.write_new
    assert entered == len(cache) + counts.evictions + counts.dropped
    assert cache.dirty_pages <= len(cache) <= (kind_of_cache.capacity_pages or 1 << 30)
    assert counts.read_ahead_used + counts.read_ahead_lost <= counts.read_ahead
    assert min(counts.vector().values()) >= 0
    reading = operations["kind"] == Kind.READ
    touched = page_accesses(
        Operations(
            {name: operations[name][reading] for name in operations.columns},
            operations.paths,
            operations.sizes_bytes,
        )
    )
    assert counts.read_hits + counts.read_misses == len(touched)
    assert set(cache.policy.pages()) <= {
        file * FILE_PAGES + page for file in range(3) for page in range(1 << 10)
    }


@given(rows_of_data, st.sampled_from(POLICIES))
def test_a_cache_without_limit_misses_each_page_once(rows: list[Row], policy: PolicyName) -> None:
    operations = trace(*rows)
    counts = simulate(operations, CacheSettings(None, policy, read_ahead_pages=0))
    assert counts.accesses - all_hits(counts) == len(np.unique(page_accesses(operations)))
    assert counts.evictions == 0


def test_both_policies_tell_the_flags_of_dropped_pages() -> None:
    for policy in (Lru(), TwoLists()):
        policy.add(5, 8, False, False)
        assert policy.touch(5, 6) == 5
        assert (policy.drop(5), policy.flags(5), len(policy)) == (8, None, 0)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_cache_that_shrinks_evicts_at_once(policy: PolicyName) -> None:
    rows: list[Row] = [(Kind.READ, 0, page * PAGE, PAGE) for page in (1, 3, 5, 5)]
    operations = trace(*rows, step_ns=10)
    cache = PageCache(replace(PLAIN, policy=policy))
    cache.run(operations, [(25, 1), (30, 2)])
    assert (cache.counts.evictions, cache.counts.read_misses, len(cache)) == (2, 3, 1)
    with pytest.raises(ValueError, match="capacity_pages"):
        cache.resize(0)
