"""What an application has in its heap at each point of its allocation, from the walks of a heap profile."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from operator import add

import numpy as np

from regatta.models.gc.heap_profile import HeapProfile
from regatta.stats.estimate import Floats


@dataclass(frozen=True)
class Amount:
    """Objects, their bytes, the references to them, and how many of these are far ones."""

    objects: float
    bytes: float
    references: float = 0.0
    far: float = 0.0

    def __iter__(self) -> Iterator[float]:
        return iter((self.objects, self.bytes, self.references, self.far))

    def __add__(self, other: Amount) -> Amount:
        return Amount(*map(add, self, other))

    def __sub__(self, other: Amount) -> Amount:
        """Return the difference, nowhere below 0: both are estimates."""
        return Amount(*(max(own - others, 0.0) for own, others in zip(self, other, strict=True)))

    def times(self, factor: float) -> Amount:
        """Return a part or a multiple."""
        return Amount(*(each * factor for each in self))


NOTHING = Amount(0.0, 0.0)


class Lifetimes:
    """Live objects by birth and time, both in bytes allocated since the start (the allocation clock).

    Between two walks, the live objects of a birth interval change linearly. Objects of one interval are born
    evenly in it.
    """

    def __init__(self, profile: HeapProfile, factor: float = 1.0, rate: float = 1.0) -> None:
        """Read the walks.

        Args:
            profile: of the application.
            factor: of the size of every object: 0.8 for objects 20 % smaller. It also scales the clock.
            rate: factor of the number of objects that a unit of work allocates: 1.5 for 50 % more. Each lives
                for as many units of work as before, so that the clock, and the objects that are live at a
                time, have the same factor.
        """
        walks = profile.checkpoints
        #: shape (k,), the clock at each walk
        self.clock: Floats = factor * rate * np.array(profile.clock, float)
        count = len(walks)
        #: shape (k + 1,): allocated objects before each walk, beginning with 0
        self._objects = rate * np.cumsum([0.0, *(at.allocated_objects for at in walks)])
        # live[k, c, i]: of all births up to and including interval c - 1, at walk k; i: the fields of an
        # amount
        live = np.zeros((count + 1, count + 1, 4))
        for place, each in enumerate(walks, 1):
            for cohort, *amount in each.cohorts:
                live[place, cohort + 1] = amount
        live *= rate * np.array((1.0, factor, 1.0, 1.0))
        self._until = np.cumsum(live, axis=1)
        #: as a list: single look-ups in an array take longer
        self._edges: list[float] = [0.0, *self.clock.tolist()]

    def allocated(self, start: float, end: float) -> Amount:
        """Return what was allocated between two clocks."""
        objects = np.interp((start, end), self._edges, self._objects)
        return Amount(float(objects[1] - objects[0]), end - start)

    def live(self, born_from: float, born_to: float, at: float) -> Amount:
        """Return what is live at clock `at` and was born between two clocks."""
        if born_to <= born_from:
            return NOTHING
        found = self._before(born_to, at) - self._before(born_from, at)
        return Amount(*np.maximum(found, 0.0).tolist())

    def _before(self, born: float, at: float) -> Floats:
        """Return the fields of the amount that is live at a clock and born before another, maybe later."""
        born = min(born, at)
        row = bisect_left(self._edges, at)
        row = min(max(row, 1), len(self._edges) - 1)
        width = self._edges[row] - self._edges[row - 1]
        part = (at - self._edges[row - 1]) / width if width > 0.0 else 1.0
        column = bisect_left(self._edges, born)
        column = min(max(column, 1), len(self._edges) - 1)
        wide = self._edges[column] - self._edges[column - 1]
        share = (born - self._edges[column - 1]) / wide if wide > 0.0 else 1.0
        found: Floats
        if column == row:
            # The interval of births in which the clock stands: half of a walk's survivors are born in its
            # first half.
            older = self._old(row, column - 1, part)
            newest = self._until[row, column] - self._until[row, column - 1]
            found = older + share * newest
            return found
        below, above = self._old(row, column - 1, part), self._old(row, column, part)
        found = below + share * (above - below)
        return found

    def _old(self, row: int, column: int, part: float) -> Floats:
        found: Floats = (1.0 - part) * self._until[row - 1, column] + part * self._until[row, column]
        return found
