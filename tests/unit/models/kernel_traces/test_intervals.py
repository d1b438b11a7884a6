"""Intervals in groups: tiles and unions equal what a search ns by ns finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regatta.models.kernel_traces.intervals import Intervals, union_ns

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(-20, 20), st.integers(0, 9)), max_size=12)
SPANS = st.lists(st.tuples(st.integers(-1, 3), st.integers(-30, 30), st.integers(1, 40)), max_size=6)


def columns(rows: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    group, begin, length = np.array(rows, np.int64).reshape(-1, 3).T
    return group, begin, begin + length


@given(rows=ROWS, spans=SPANS)
def test_tiles_cover_each_span_with_the_intervals_of_its_group(
    rows: list[tuple[int, int, int]], spans: list[tuple[int, int, int]]
) -> None:
    group, begin, end = columns(rows)
    found = Intervals(group, begin, end)
    owner: dict[tuple[int, int], int] = {}
    for at in range(len(found)):
        for time in range(found.begin_ns[at], found.end_ns[at]):
            assert owner.setdefault((found.group[at], time), at) == at
        assert found.begin_ns[at] == begin[found.source[at]]
    groups, low, high = columns(spans)
    tiles = found.tiles(groups, low, high)
    listed = [
        (span, time, at)
        for span, at, first, after in zip(*(column.tolist() for column in tiles), strict=True)
        for time in range(first, after)
    ]
    assert listed == [
        (span, time, owner.get((groups[span], time), -1))
        for span in range(len(spans))
        for time in range(low[span], high[span])
    ]


@given(rows=ROWS)
def test_a_union_counts_each_ns_once(rows: list[tuple[int, int, int]]) -> None:
    covered = [
        len({time for group, begin, length in rows if group == one for time in range(begin, begin + length)})
        for one in range(4)
    ]
    assert union_ns(*columns(rows), 4).tolist() == covered
