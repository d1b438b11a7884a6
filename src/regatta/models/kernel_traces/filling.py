"""State after each event, carried forward in arrays, independent of how events are cut into batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Columns = dict[str, Numbers]

#: interrupts that interrupt each other: a device, a deferred one, the clock and one more
_LEVELS = 4


def columns_of(batch: pa.RecordBatch) -> Columns:
    """Return the columns of some rows."""
    return {
        name: batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64)
        for name in batch.schema.names
    }


def sums_by(keys: Numbers, values: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the distinct keys, the sum of the values of each, and the index of the key of each row."""
    distinct, places = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, places, values)
    return distinct, sums, places


class Filled:
    """The last known value of a group, up to and including each row."""

    def __init__(self, default: int) -> None:
        self._default = default
        self._last = default

    def __call__(self, values: NDArray[Any], known: Mask, first: Mask) -> Numbers:
        """Return the value after each row.

        Args:
            values: of the rows, ordered by group and time.
            known: rows that set the value.
            first: rows that begin a group; a group that began in the batch before continues.
        """
        places = np.maximum.accumulate(np.where(known | first, np.arange(len(values)), -1))
        own = np.where(known, values, self._default).astype(np.int64)
        filled: Numbers = np.where(places < 0, self._last, own[places])
        self._last = int(filled[-1])
        return filled


class Nesting:
    """The innermost interrupt that runs, per group of consecutive rows: those of a CPU, or of a thread."""

    def __init__(self, none: int) -> None:
        self._none = none
        self._depth = 0
        self._levels = [Filled(none) for _ in range(_LEVELS)]

    def __call__(self, begins: Mask, ends: Mask, resets: Mask, objects: NDArray[Any], first: Mask) -> Numbers:
        """Return the object of the innermost interrupt after each row.

        Args:
            begins: rows where an interrupt begins.
            ends: rows where the innermost one ends; an end without a begin is ignored.
            resets: rows at which no interrupt runs, as when a CPU changes its thread.
            objects: the interrupts of `begins`.
            first: as for `Filled`.
        """
        step = begins.astype(np.int64) - ends
        cut = resets | first
        piece = np.cumsum(cut)
        total = np.cumsum(step)
        at_cut = np.maximum.accumulate(np.where(cut, np.arange(len(step)), -1))
        before = np.where(at_cut < 0, -self._depth, total[at_cut] - np.where(first, step, 0)[at_cut])
        depth = total - before
        # An end without a begin must not count: subtract how far a piece fell below zero until then. Each
        # later piece is shifted down, so that one running minimum serves all of them.
        shift = piece * (2 * len(step) + 2 * abs(self._depth) + 2)
        lowest = np.minimum.accumulate(depth - shift) + shift
        depth -= np.minimum(lowest, 0)
        self._depth = int(depth[-1])
        found = np.full(len(step), self._none, np.int64)
        for level, filled in enumerate(self._levels, 1):
            at_level = depth == level if level < _LEVELS else depth >= level
            found = np.where(at_level, filled(objects, begins & at_level, first), found)
        return found
