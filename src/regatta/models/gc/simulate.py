"""Which collections a program causes in a heap of a given size, and what each of them finds.

The state of the heap is a few positions in the allocation clock: everything older than `old_until` is in the
old generation, and each survivor group is an interval of births. Therefore one collection costs a handful of
look-ups, however large the heap is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regatta.host.errors import SpecError
from regatta.models.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.models.gc.heap_policy import CONCURRENT, NONE, Policy, after_full, after_young, region_bytes
from regatta.models.gc.lifetimes import NOTHING, Amount, Lifetimes

#: A cycle does not follow another one before this part of the free heap is allocated.
_LEAST_FREE = 0.1
#: weight of the last value, and factor of the deviation, of the promotion that a collector expects
#: (AdaptivePaddedAverage)
_WEIGHT, _PADDING = 0.25, 3.0


#: Serial leaves garbage in place up to this part of the old generation (MarkSweepDeadRatio), except in each
#: fourth full collection (MarkSweepAlwaysCompactCount): serialFullGC.cpp, class DeadSpacer.
_DEAD_WOOD, _ALWAYS_COMPACT = 0.05, 4


@dataclass(frozen=True)
class SimulatedCollection:
    """One collection of a simulated run."""

    kind: str
    #: whether the program asked for it
    forced: bool
    #: allocation clock, bytes
    at: float
    #: objects that are live; of a young collection, in the young generation
    live: Amount
    #: of these, the objects that move to the old generation for the first time
    promoted: Amount
    #: those that no collection has moved before
    unmoved: Amount
    #: dead objects in the collected space that an earlier collection has seen
    dead: Amount
    #: those that none has seen
    dead_new: Amount
    #: occupancy of the old generation before, bytes
    old_bytes: float
    #: of the heap at this time
    policy: Policy


@dataclass
class _Heap:
    """State between two collections."""

    #: births before it are in the old generation
    old_until: float = 0.0
    #: start of the eden's births
    eden_from: float = 0.0
    #: starts of the births of the survivor groups with 1, 2, ... copies, youngest first; the last ends at
    #: `old_until`
    groups: tuple[float, ...] = ()
    #: occupancy of the old generation with the dead objects in it
    old: Amount = NOTHING
    #: occupancy of the survivor space
    survived: Amount = NOTHING
    threshold: int = 0
    average: float = 0.0
    deviation: float = 0.0
    #: part of what is too large by which a heap that grows shrinks in the next full collection
    shrink: float = 0.0
    #: full collections so far
    full: int = 0

    @property
    def expected(self) -> float:
        """Bytes that the collector expects to promote."""
        return self.average + _PADDING * self.deviation


def simulate(lives: Lifetimes, policy: Policy, forced: Sequence[float]) -> list[SimulatedCollection]:
    """Return the collections of a run, in order.

    Args:
        forced: allocation clocks at which the program calls `System.gc()`, ascending.

    Raises:
        SpecError: live objects do not fit into the heap.
    """
    if policy.collector == NONE:
        return []
    return _Run(lives, policy).whole(list(forced), float(lives.clock[-1]))


class _Run:
    def __init__(self, lives: Lifetimes, policy: Policy) -> None:
        self._lives, self._policy = lives, policy
        self._heap = _Heap(threshold=policy.copies)
        self._found: list[SimulatedCollection] = []

    def whole(self, forced: list[float], stop: float) -> list[SimulatedCollection]:
        while True:
            due = self._due()
            while forced and forced[0] <= min(due, stop):
                self._full(forced.pop(0), True)
                due = self._due()
            if due > stop:
                return self._found
            if self._policy.collector in CONCURRENT or self._unsafe(due):
                self._full(due, False)
            else:
                self._young(due)

    def _due(self) -> float:
        """Return the clock at which eden is full, or at which a concurrent collector has to start a cycle."""
        heap, policy = self._heap, self._policy
        room = float(policy.eden)
        if policy.collector == "g1":
            region = region_bytes(policy.heap)
            # After a young collection, at least one region has a survivor.
            taken = math.ceil(max(heap.survived.bytes, 1.0) / region) * region if heap.groups else 0.0
            room = max(policy.eden - taken, region)
        elif policy.collector in CONCURRENT:
            room = max(policy.eden - heap.old.bytes, _LEAST_FREE * (policy.heap - heap.old.bytes))
        return heap.eden_from + room

    def _unsafe(self, at: float) -> bool:
        """Return whether the old generation may not hold what a young collection promotes."""
        heap, policy = self._heap, self._policy
        free = policy.most_old - heap.old.bytes
        most = heap.survived.bytes + at - heap.eden_from
        return free < min(heap.expected, most) if policy.collector != "g1" else free < 0.0

    def _young(self, at: float) -> None:
        heap, lives, policy = self._heap, self._lives, self._policy
        allocated = lives.allocated(heap.eden_from, at)
        starts = (heap.eden_from, *heap.groups)
        ends = (at, heap.eden_from, *heap.groups)
        live = [lives.live(start, end, at) for start, end in zip(starts, ends, strict=False)]
        # An object that has been copied `threshold` times is promoted at its next collection.
        kept = live[: heap.threshold]
        promoted = _total(live[heap.threshold :])
        groups = starts[: len(kept)]
        room, old_until = policy.survivor, groups[-1] if groups else at
        while groups and _total(kept).bytes > room:
            # The survivor space overflows: the oldest go first, and a part of the last group.
            over = _total(kept).bytes - room
            part = min(over / kept[-1].bytes, 1.0) if kept[-1].bytes > 0.0 else 1.0
            promoted += kept[-1].times(part)
            if part >= 1.0:
                kept, groups = kept[:-1], groups[:-1]
                old_until = groups[-1] if groups else at
            else:
                # Births are even in time, and the oldest go.
                old_until = groups[-1] + part * (ends[len(kept) - 1] - groups[-1])
                kept[-1] = kept[-1].times(1.0 - part)
                groups = (*groups[:-1], old_until)
                break
        survived = _total(kept)
        whole = survived + promoted
        dead, dead_new = heap.survived - _total(live[1:]), allocated - live[0]
        self._found.append(
            SimulatedCollection(
                YOUNG, False, at, whole, promoted, live[0], dead, dead_new, heap.old.bytes, policy
            )
        )
        change = promoted.bytes - heap.average
        heap.average = promoted.bytes if heap.average == 0.0 else heap.average + _WEIGHT * change
        heap.deviation += _WEIGHT * (abs(promoted.bytes - heap.average) - heap.deviation)
        heap.old += promoted
        heap.survived, heap.groups, heap.old_until, heap.eden_from = survived, groups, old_until, at
        heap.threshold = self._threshold(kept)
        self._policy = after_young(policy, heap.old.bytes, survived.bytes)
        if policy.growth and policy.growth.full_after and self._policy.old > policy.old:
            self._full(at, False, policy.old)

    def _threshold(self, kept: Sequence[Amount]) -> int:
        """Return the copies after which objects are promoted: survivors fill a part of their space."""
        total, most = 0.0, self._policy.copies
        for copies, each in enumerate(kept, 1):
            total += each.bytes
            if total > self._policy.target * self._policy.survivor:
                return min(copies, most)
        return most

    def _full(self, at: float, forced: bool, old_before: int | None = None) -> None:
        """Collect the whole heap, in a pause or in a concurrent cycle.

        Args:
            at: clock.
            forced: whether the program asked for it.
            old_before: size of the old generation before the young collection that this one follows, bytes.
        """
        kind = CYCLE if self._policy.collector in CONCURRENT else FULL
        heap, lives, policy = self._heap, self._lives, self._policy
        live = lives.live(0.0, at, at)
        if live.bytes > policy.most_heap:
            raise SpecError.of(
                "--heap",
                f"more than the {live.bytes / 2**20:.0f} MiB of live objects",
                f"{policy.most_heap / 2**20:.0f} MiB",
                "choose a larger heap",
            )
        moved = lives.live(heap.old_until, at, at)
        newest = lives.live(heap.eden_from, at, at)
        dead = heap.old + heap.survived - (live - newest)
        dead_new = lives.allocated(heap.eden_from, at) - newest
        self._found.append(
            SimulatedCollection(kind, forced, at, live, moved, newest, dead, dead_new, heap.old.bytes, policy)
        )
        heap.full += 1
        heap.old, heap.survived, heap.groups = live + self._left(at), NOTHING, ()
        heap.old_until = heap.eden_from = at
        before = policy.old if old_before is None else old_before
        self._policy, heap.shrink = after_full(policy, heap.old.bytes, before, heap.shrink)

    def _left(self, at: float) -> Amount:
        """Return the garbage of the old generation that a full collection leaves there."""
        heap, policy = self._heap, self._policy
        if policy.collector != "serial" or heap.full % _ALWAYS_COMPACT == 0:
            return NOTHING
        garbage = heap.old - self._lives.live(0.0, heap.old_until, at)
        room = _DEAD_WOOD * policy.old
        return garbage.times(room / garbage.bytes) if garbage.bytes > room else garbage


def _total(amounts: Sequence[Amount]) -> Amount:
    return sum(amounts, NOTHING)
