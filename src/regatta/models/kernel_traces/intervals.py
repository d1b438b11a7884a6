"""Sorted intervals of time in groups, such as the segments of threads, searched for many spans at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regatta.models.kernel_traces.filling import Numbers


class Tiles(NamedTuple):
    """Parts of spans. Arrays of equal length, by span and time.

    `span`: index of the span. `at`: index of the interval that covers the part, or -1: none does.
    """

    span: Numbers
    at: Numbers
    begin_ns: Numbers
    end_ns: Numbers


class Intervals:
    """Intervals [begin, end) that do not overlap within a group.

    Attributes:
        group, begin_ns, end_ns: shape (n,), by group and begin.
        source: shape (n,), position of each interval in the arrays that were given.
    """

    def __init__(self, group: NDArray[Any], begin_ns: NDArray[Any], end_ns: NDArray[Any]) -> None:
        """Sort the intervals.

        Args:
            group: shape (n,), >= 0. The largest times the span of time must be less than 2^63.
            begin_ns: shape (n,).
            end_ns: shape (n,). An interval ends at the latest when the next of its group begins; empty ones
                are dropped.
        """
        self._origin = int(begin_ns.min()) if len(begin_ns) else 0
        self._span = int(end_ns.max()) - self._origin + 2 if len(end_ns) else 2
        keys = self._keys(group, begin_ns)
        source = np.arange(len(keys))
        if np.any(keys[1:] < keys[:-1]):
            source = np.argsort(keys, kind="stable")
            group, begin_ns, end_ns, keys = group[source], begin_ns[source], end_ns[source], keys[source]
        inner = (group[1:] == group[:-1]) & (end_ns[:-1] > begin_ns[1:])
        if np.any(inner):
            end_ns = end_ns.copy()
            end_ns[:-1][inner] = begin_ns[1:][inner]
        kept = end_ns > begin_ns
        if not np.all(kept):
            group, begin_ns, end_ns, keys, source = (
                values[kept] for values in (group, begin_ns, end_ns, keys, source)
            )
        self.group, self.begin_ns, self.end_ns, self.source = group, begin_ns, end_ns, source
        self._begin_keys = keys
        self._end_keys = self._keys(group, end_ns)

    def __len__(self) -> int:
        return len(self.group)

    def _keys(self, group: NDArray[Any], time_ns: NDArray[Any]) -> Numbers:
        keys = np.clip(np.asarray(time_ns, np.int64) - self._origin, 0, self._span - 1)
        keys += np.asarray(group, np.int64) * self._span
        return keys

    def within(
        self, group: NDArray[Any], begin_ns: NDArray[Any], end_ns: NDArray[Any]
    ) -> tuple[Numbers, Numbers]:
        """Return the first interval that overlaps each span, and the one after the last.

        Args:
            group: shape (m,), the group to search in; one that does not exist has no intervals.
            begin_ns: shape (m,).
            end_ns: shape (m,), > `begin_ns`.
        """
        first = np.searchsorted(self._end_keys, self._keys(group, begin_ns), side="right")
        after = np.searchsorted(self._begin_keys, self._keys(group, end_ns), side="left")
        return first, np.maximum(first, after)

    def tiles(self, group: NDArray[Any], begin_ns: NDArray[Any], end_ns: NDArray[Any]) -> Tiles:
        """Cut spans at the intervals of a group; the parts, with the gaps, tile each span exactly.

        Args:
            group, begin_ns, end_ns: as for `within`.
        """
        first, after = self.within(group, begin_ns, end_ns)
        count = 2 * (after - first) + 1
        span = np.repeat(np.arange(len(count)), count)
        place = np.arange(len(span)) - np.repeat(np.cumsum(count) - count, count)
        low, high = np.asarray(begin_ns, np.int64)[span], np.asarray(end_ns, np.int64)[span]
        if not len(self):
            return Tiles(span, np.full(len(span), -1), low, high)
        # Part 2 i is the gap before the overlapping interval i, part 2 i + 1 is that interval.
        covered = place % 2 == 1
        at = first[span] + place // 2
        last = len(self) - 1
        gap_begin = np.where(place == 0, low, self.end_ns[np.clip(at - 1, 0, last)])
        gap_end = np.where(place == count[span] - 1, high, self.begin_ns[np.minimum(at, last)])
        inside = np.minimum(at, last)
        begin = np.where(covered, np.maximum(low, self.begin_ns[inside]), gap_begin)
        end = np.where(covered, np.minimum(high, self.end_ns[inside]), gap_end)
        kept = end > begin
        return Tiles(span[kept], np.where(covered, at, -1)[kept], begin[kept], end[kept])


def union_ns(group: Numbers, begin_ns: Numbers, end_ns: Numbers, groups: int) -> Numbers:
    """Return the time that the intervals of each group cover, shape (groups,), in ns; they may overlap."""
    covered = np.zeros(groups, np.int64)
    order = np.lexsort((begin_ns, group))
    group, begin_ns, end_ns = group[order], begin_ns[order], end_ns[order]
    if not len(group):
        return covered
    origin = int(begin_ns.min())
    span = int(end_ns.max()) - origin + 1
    # Shift groups apart, so that one running maximum serves all of them.
    shift = group.astype(np.int64) * span - origin
    latest = np.maximum.accumulate(end_ns + shift)
    before = np.concatenate(([np.iinfo(np.int64).min], latest[:-1]))
    np.add.at(
        covered, group, np.maximum(0, end_ns + shift - np.maximum(begin_ns + shift, before)).astype(np.int64)
    )
    return covered
