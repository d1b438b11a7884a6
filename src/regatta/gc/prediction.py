"""Predict the collections of an application in a heap, with a collector, that it has not run with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regatta.gc.cases import CPU
from regatta.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.gc.costs import Costs
from regatta.gc.heap_policy import NONE, Policy
from regatta.gc.heap_vector import HeapVector
from regatta.gc.lifetimes import Amount, Lifetimes
from regatta.gc.simulate import Found, simulate
from regatta.gc.work import Floats, Sizes, Work
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval

KINDS = (YOUNG, FULL, CYCLE)
#: of all kinds together
ALL = "all"
#: classes and bytes of machine code that a JVM has while suite gc runs on releases 21 and 25: their cost is in the fixed part
_CLASSES_OF_SUITE, _CODE_OF_SUITE = 1600.0, 1.4 * 2**20


@dataclass(frozen=True)
class Predicted:
    """One collection."""

    #: iteration in which it happens, from 0; -1: before the first
    iteration: int
    found: Found
    #: shape (invocations of the costs,), ns
    ns: Floats


@dataclass(frozen=True)
class Total:
    """Collections of one kind in an iteration."""

    #: mean number
    count: float
    #: time in ns
    time: Interval


@dataclass(frozen=True)
class GcPrediction:
    """The collections of the counted iterations."""

    policy: Policy
    iterations: int
    collections: Sequence[Predicted]
    #: kind -> total of an iteration; `all`: of all kinds; `CPU`: of concurrent collectors
    totals: Mapping[str, Total]
    #: why there is no collection, or what the prediction leaves out
    notes: Sequence[str] = ()


def predict_collections(
    vector: HeapVector,
    policy: Policy,
    costs: Mapping[str, Costs],
    *,
    forced: bool = True,
    level: float = 0.95,
    lives: Lifetimes | None = None,
) -> GcPrediction:
    """Predict the collections of the iterations after warm-up.

    Args:
        vector: of the application.
        policy: of the heap.
        costs: kind of collection -> its costs; a kind that occurs and has none is named in the notes.
        forced: whether each iteration after the first begins with `System.gc()` (modifier `full-collection`).
        level: of the intervals, over the invocations of the microbenchmarks.
        lives: of the vector, to build it only once, or with objects of another size.

    Raises:
        RegattaError: live objects do not fit into the heap.
    """
    lives = lives or Lifetimes(vector.profile)
    bounds = _bounds(vector, lives, forced)
    found = simulate(lives, policy, [start for number, start in bounds if number >= 1] if forced else [])
    counted = vector.counted or [0]
    by_kind: dict[str, list[Found]] = {}
    for each in found:
        by_kind.setdefault(each.kind, []).append(each)
    works = {id(each): _Contents(vector, lives, each.policy).work_of(each) for each in found}
    times: dict[int, Floats] = {}
    notes = []
    for kind, several in by_kind.items():
        if kind not in costs:
            notes.append(f"no costs of {kind} collections")
            continue
        ns = costs[kind].of([works[id(each)] for each in several])
        times.update({id(each): ns[:, at] for at, each in enumerate(several)})
    own = [each for each in by_kind.get(CYCLE, ()) if not each.forced]
    cpu = costs[CPU].of([works[id(each)] for each in own]) if CPU in costs else None
    rows = max((cost.per.shape[0] for cost in costs.values()), default=1)
    collections = [
        Predicted(_iteration_of(each, bounds), each, times.get(id(each), np.full(rows, math.nan)))
        for each in found
    ]
    collections = [each for each in collections if each.iteration in counted]
    if policy.collector == NONE:
        notes.append("Epsilon never collects")
    if vector.profile.hides_order:
        notes.append(
            "the profile has no jumps in memory, as with Z and Shenandoah: make it with another collector"
        )
    totals = _totals(collections, len(counted), rows, level)
    if cpu is not None:
        within = [at for at, each in enumerate(own) if _iteration_of(each, bounds) in counted]
        per = cpu[:, within].sum(axis=1) / len(counted)
        totals[CPU] = Total(len(within) / len(counted), mean_interval(per, level, positive=True))
    return GcPrediction(policy, len(counted), collections, totals, notes)


def _totals(collections: Sequence[Predicted], iterations: int, rows: int, level: float) -> dict[str, Total]:
    totals = {}
    for kind in (*KINDS, ALL):
        own = [each for each in collections if kind in (each.found.kind, ALL)]
        if own or kind == ALL:
            sums = np.sum([each.ns for each in own], axis=0) if own else np.zeros(rows)
            per = sums / max(iterations, 1)
            totals[kind] = Total(len(own) / max(iterations, 1), mean_interval(per, level, positive=True))
    return totals


def _bounds(vector: HeapVector, lives: Lifetimes, forced: bool) -> Sequence[tuple[int, float]]:
    """Return the iterations and the clocks at which they start.

    With `System.gc()`, an iteration is that of the measured log: from its call to the next one. What a program prepares for the
    next iteration belongs to it. Without, it starts where the one before ends.
    """
    if forced:
        begins = vector.profile.ends("before ").items()
        return [(0, 0.0), *sorted((number, float(lives.clock[at])) for number, at in begins if number >= 1)]
    ends = sorted((number, float(lives.clock[at])) for number, at in vector.profile.ends().items())
    return [(0, 0.0), *((number + 1, end) for number, end in ends)]


def _iteration_of(found: Found, bounds: Sequence[tuple[int, float]]) -> int:
    """Return the iteration of a collection. A forced one at the start of an iteration belongs to it."""
    return max(number for number, start in bounds if start < found.at or (start == found.at and found.forced))


class _Contents:
    """The objects that simulated collections find, by size."""

    def __init__(self, vector: HeapVector, lives: Lifetimes, policy: Policy) -> None:
        self._walks, self._clock, self._policy = vector.profile.checkpoints, lives.clock, policy
        self._lives = lives
        self._allocated = vector.allocated
        self._jumps = vector.profile.jumps

    def work_of(self, found: Found) -> Work:
        """Return what a simulated collection has to do."""
        walk = self._walks[int(np.abs(self._clock - found.at).argmin())]
        # The objects that the JVM had before the program are in the fixed cost.
        alive = found.live
        if found.kind != YOUNG:
            alive = alive - self._lives.live(0.0, float(self._clock[0]), found.at)
        # Objects that no collection has moved lie between dead ones.
        garbage = found.dead.bytes + found.dead_new.bytes
        jumps = self._jumps * found.unmoved.objects
        if found.kind == YOUNG:
            return Work(
                self._policy.heap,
                moved=_of_mean_size(found.live - found.promoted),
                promoted=_of_mean_size(found.promoted),
                references=found.live.references,
                far_moved={found.live.bytes + garbage: jumps},
                old_bytes=found.old_bytes,
            )
        live = [(float(objects), float(size)) for _, objects, size in walk.live]
        in_place = alive - found.promoted
        return Work(
            self._policy.heap,
            moved=_distribution(live, found.promoted),
            live=_distribution(live, in_place),
            dead=_distribution(self._allocated, found.dead),
            dead_new=_distribution(self._allocated, found.dead_new),
            references=alive.references,
            far={alive.bytes: in_place.far},
            far_moved={alive.bytes + garbage: jumps},
            classes=walk.loaded_classes - _CLASSES_OF_SUITE,
            code_bytes=walk.code_bytes - _CODE_OF_SUITE,
        )


def _of_mean_size(amount: Amount) -> Sizes:
    return {amount.bytes / amount.objects: amount.objects} if amount.objects > 0.0 else {}


def _distribution(bins: Sequence[tuple[float, float]], amount: Amount) -> Sizes:
    """Return size -> objects: the sizes of the bins, scaled so that both sums are those of `amount`."""
    objects = math.fsum(count for count, _ in bins)
    size = math.fsum(each for _, each in bins)
    if not (objects > 0.0 and size > 0.0 and amount.objects > 0.0):
        return {}
    larger = amount.bytes / amount.objects * objects / size
    return {larger * each / count: amount.objects * count / objects for count, each in bins if count > 0}
