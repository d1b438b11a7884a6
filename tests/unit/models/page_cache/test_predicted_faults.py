"""Predicted faults against known answers, and against LRU that is simulated page by page."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from regatta.host.errors import RegattaError
from regatta.models.page_cache.cache import FILE_PAGES
from regatta.models.page_cache.faults import fault_curve, predict_faults
from regatta.models.page_cache.mapped_cache import MapSettings, simulate_maps
from regatta.models.page_cache.page import write_faults
from regatta.models.page_cache.references import (
    BLOCK,
    Facts,
    File,
    Reducer,
    References,
    read_references,
    write_references,
)
from regatta.models.page_cache.replacement import CODE, MAPPED, MappedTwoLists

OF_FILE, OF_MEMORY = 0, FILE_PAGES
FILES = (File("/data"), File("anonymous memory of process 1", anonymous=True))
NO_READ_AHEAD = MapSettings(0)


def references(pages: Sequence[int] | NDArray[np.int64], **facts: int) -> References:
    return References(np.array(pages, np.int64), FILES, Facts(**facts))  # type: ignore[arg-type]


def brute_force(trace: References, memory: int, swap: bool) -> int | None:
    """Refaults of LRU, one reference at a time; None: the anonymous pages do not fit."""
    cache: OrderedDict[int, None] = OrderedDict()
    pinned: set[int] = set()
    seen: set[int] = set()
    refaults = 0
    for page in trace.pages.tolist():
        if page >= OF_MEMORY and not swap:
            pinned.add(page)
        else:
            refaults += page in seen and page not in cache
            seen.add(page)
            cache[page] = None
            cache.move_to_end(page)
        while len(cache) + len(pinned) > memory:
            if not cache or (next(reversed(cache)) == page and len(cache) == 1):
                return None
            cache.popitem(last=False)
    return refaults if len(pinned) + bool(seen) <= memory else None


def test_a_loop_over_more_than_the_memory_misses_always() -> None:
    trace = references(np.tile(np.arange(100), 7))
    curve = fault_curve(trace)
    assert (curve.first_touches_of_files, curve.first_touches_anonymous) == (100, 0)
    for memory in (1, 50, 99):
        assert curve.refaults(memory) == 600


def test_a_loop_within_the_memory_has_only_first_touches() -> None:
    trace = references(np.tile(np.arange(100), 7))
    found = predict_faults(trace, fault_curve(trace), 100, NO_READ_AHEAD)
    assert found.lru == 0
    assert found.linux is not None
    assert (found.linux.major, found.linux.read_again, found.linux.evictions) == (100, 0, 0)


def test_anonymous_memory_takes_room_from_files_unless_there_is_swap() -> None:
    trace = references(
        [*range(OF_MEMORY, OF_MEMORY + 30), *np.tile(np.arange(70), 3), *range(OF_MEMORY, OF_MEMORY + 30)]
    )
    curve = fault_curve(trace)
    assert (curve.first_touches_of_files, curve.first_touches_anonymous, curve.least_pages) == (70, 30, 31)
    assert (curve.refaults(100), curve.refaults(99), curve.refaults(31), curve.refaults(30)) == (
        0,
        140,
        140,
        None,
    )
    swapped = fault_curve(trace, swap=True)
    assert (swapped.refaults(100), swapped.refaults(99), swapped.refaults(70)) == (0, 30, 30)
    assert predict_faults(trace, curve, 30, NO_READ_AHEAD).linux is None
    with pytest.raises(ValueError, match="fill the memory"):
        simulate_maps(trace, 20, NO_READ_AHEAD)


traces = st.lists(st.integers(0, 11) | st.integers(OF_MEMORY, OF_MEMORY + 5), min_size=1, max_size=120)


@given(traces, st.integers(1, 20), st.booleans())
def test_the_curve_is_lru_page_by_page(pages: list[int], memory: int, swap: bool) -> None:
    trace = references(pages)
    curve = fault_curve(trace, swap)
    if memory >= curve.least_pages:
        assert curve.refaults(memory) == brute_force(trace, memory, swap)
    else:
        assert curve.refaults(memory) is None


@given(st.integers(0, 2**32 - 1), st.sampled_from([5, 20, 60]))
def test_zipf_references_have_the_faults_of_lru_page_by_page(seed: int, memory: int) -> None:
    generator = np.random.default_rng(seed)
    trace = references((100 ** generator.random(2000)).astype(np.int64))
    assert fault_curve(trace).refaults(memory) == brute_force(trace, memory, False)


@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.integers(1, 5000))
def test_a_reduced_trace_is_exact_for_all_memories_from_its_limit(seed: int, pages: int, piece: int) -> None:
    generator = np.random.default_rng(seed)
    whole = (pages ** generator.random(10_000)).astype(np.int64) + np.repeat(
        generator.integers(0, 300, 10), 1000
    )
    reducer = Reducer()
    kept = [reducer.add(whole[at : at + piece]) for at in range(0, len(whole), piece)]
    reduced = np.concatenate([*kept, reducer.finish()])
    full, small = fault_curve(references(whole)), fault_curve(references(reduced))
    assert small.touched_pages == full.touched_pages
    assert len(reduced) <= len(whole)
    for memory in range(reducer.exact_from, full.touched_pages + 1, 7):
        assert small.refaults(memory) == full.refaults(memory)


def test_a_reduced_trace_is_small_and_tells_its_limit() -> None:
    reducer = Reducer()
    pages = np.tile(np.arange(8), 1000 * BLOCK // 8)
    kept = np.concatenate([reducer.add(pages), reducer.finish()])
    assert reducer.exact_from == 8
    assert len(kept) == 1000 * 16


@given(traces, st.integers(7, 30))
def test_linux_reads_each_page_once_and_again_only_if_it_left(pages: list[int], memory: int) -> None:
    trace = references(pages)
    curve = fault_curve(trace)
    for settings in (NO_READ_AHEAD, MapSettings(32, advised_random=True)):
        found = simulate_maps(trace, memory, settings)
        assert found.read == found.major == found.read_again + curve.first_touches_of_files
        assert found.read - found.evictions <= memory - curve.first_touches_anonymous
        if memory >= curve.touched_pages:
            assert found.read_again == 0
    assert simulate_maps(trace, memory, MapSettings(8)).major <= len(pages)


def test_reading_around_makes_few_major_faults_of_a_sequential_scan() -> None:
    trace = references(np.arange(4096))
    found = simulate_maps(trace, 4096, MapSettings(32))
    assert found.read == 4096
    assert found.read_again == 0
    assert 1 <= found.major <= 4096 / 32


def test_a_fault_maps_the_cached_pages_around_it() -> None:
    # All pages are read around the first fault. One fault per 16 pages remains, and one at the mark of the next window.
    found = simulate_maps(references([16, *range(32)]), 64, MapSettings(32))
    assert (found.major, found.read, found.minor) == (1, 32, 3)


def test_used_pages_get_another_turn_and_then_become_active() -> None:
    lists = MappedTwoLists()
    for page in range(3):
        lists.add(page, 0, False, False)
    lists.map(0)
    assert lists.evict()[0] == 1, "page 0 was used and goes to the end"
    assert lists.use(0)
    assert lists.evict()[0] == 2
    assert lists.activations == 0
    lists.add(3, 0, False, False)
    assert lists.evict()[0] == 3, "page 0 is used again, so it becomes active"
    assert lists.activations == 1


def test_code_becomes_active_at_once_and_random_advice_hides_all_uses() -> None:
    for looks, flags, left, activations in ((True, CODE, 1, 1), (True, 0, 1, 0), (False, CODE, 0, 0)):
        lists = MappedTwoLists(looks)
        for page in range(2):
            lists.add(page, 0, False, False)
        lists.map(0, flags)
        assert (lists.evict()[0], lists.activations) == (left, activations)


def test_a_page_that_left_is_not_mapped() -> None:
    lists = MappedTwoLists()
    lists.add(5, MAPPED, False, False)
    assert lists.use(5)
    lists.evict()
    assert not lists.use(5)


def test_files_without_memory_are_left_out_by_pattern() -> None:
    files = (File("/usr/lib/libc.so.6", executable=True), File("/data"), File("*", anonymous=True))
    trace = References(np.array([0, FILE_PAGES, 2 * FILE_PAGES], np.int64), files)
    assert trace.without(["*/lib*", "\\*"]).pages.tolist() == [FILE_PAGES, 2 * FILE_PAGES]
    assert trace.without([]).pages.tolist() == trace.pages.tolist()


def test_a_trace_is_read_as_it_was_written(tmp_path: Path) -> None:
    facts = Facts("valgrind lackey", "here", "6.1", 10, 3, {"thing": 2})
    trace = References(np.array([1, FILE_PAGES + 7], np.int64), FILES, facts)
    write_references(tmp_path, trace)
    found = read_references(tmp_path)
    assert found.pages.tolist() == trace.pages.tolist()
    assert (found.files, found.facts) == (trace.files, facts)


@pytest.mark.parametrize(
    "facts", ['{"version": 99}', "[]", '{"references": -1}', '{"other": 1}', '{"not_understood": [1]}']
)
def test_facts_that_contradict_the_format_are_an_error(tmp_path: Path, facts: str) -> None:
    write_references(tmp_path, references([1]))
    (tmp_path / "trace.json").write_text(facts)
    with pytest.raises(RegattaError, match=r"trace\.json"):
        read_references(tmp_path)


@pytest.mark.parametrize("page", [-1, 2 * FILE_PAGES])
def test_pages_of_no_file_are_an_error(tmp_path: Path, page: int) -> None:
    write_references(tmp_path, references([page]))
    with pytest.raises(RegattaError, match=r"references\.parquet"):
        read_references(tmp_path)


def test_a_picture_shows_the_faults_of_lru_and_linux(tmp_path: Path) -> None:
    trace = references(np.tile(np.arange(1000), 3))
    curve = fault_curve(trace)
    found = [predict_faults(trace, curve, memory, NO_READ_AHEAD) for memory in (1000, 500)]
    write_faults(curve, found, "Faults <of> it", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Faults &lt;of&gt; it" in page
    assert "2,000" in page
    assert "read again, linux" in page
