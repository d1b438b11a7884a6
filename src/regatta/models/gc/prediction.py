"""Predict the collections of an application in a heap, with a collector, that it has not run with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regatta.models.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.models.gc.costs import Costs
from regatta.models.gc.heap_policy import NONE, Policy
from regatta.models.gc.heap_vector import HeapRun, HeapVector
from regatta.models.gc.lifetimes import Amount, Lifetimes
from regatta.models.gc.simulate import SimulatedCollection, simulate
from regatta.models.gc.work import CPU, Sizes, Work
from regatta.stats.estimate import Floats, Interval
from regatta.stats.intervals import mean_interval
from regatta.stats.mover import distances

KINDS = (YOUNG, FULL, CYCLE)
#: of all kinds together
ALL = "all"
#: classes and bytes of machine code that a JVM has while suite gc runs on releases 21 and 25: their cost is
#: in the fixed part
_CLASSES_OF_SUITE, _CODE_OF_SUITE = 1500.0, 1.1 * 2**20


@dataclass(frozen=True)
class Predicted:
    """One collection."""

    #: iteration in which it happens, from 0; -1: before the first
    iteration: int
    found: SimulatedCollection
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
    #: counted iterations of all runs
    iterations: int
    #: collections of each profiled run
    runs: Sequence[Sequence[Predicted]]
    #: kind -> total of an iteration; `all`: of all kinds; `CPU`: of concurrent collectors
    totals: Mapping[str, Total]
    #: why there is no collection, or what the prediction leaves out
    notes: Sequence[str] = ()

    @property
    def collections(self) -> Sequence[Predicted]:
        """Return those of all runs."""
        return [each for run in self.runs for each in run]


def predict_collections(
    vector: HeapVector,
    policy: Policy,
    costs: Mapping[str, Costs],
    *,
    forced: bool = True,
    level: float = 0.95,
    lives: Sequence[Lifetimes] = (),
) -> GcPrediction:
    """Predict the collections of the iterations after warm-up.

    Args:
        costs: kind of collection -> its costs; a kind that occurs and has none is named in the notes.
        forced: whether each iteration after the first begins with `System.gc()` (modifier `full-collection`).
        level: of the intervals, over the invocations of the microbenchmarks and the profiled runs.
        lives: of each run, to build it only once, or with objects of another size.

    Raises:
        RegattaError: live objects do not fit into the heap.
    """
    lives = lives or [Lifetimes(run.profile) for run in vector.runs]
    rows = max((cost.per.shape[0] for cost in costs.values()), default=1)
    each = [
        _of_run(run, own, policy, costs, rows, forced) for run, own in zip(vector.runs, lives, strict=True)
    ]
    notes = list(dict.fromkeys(note for one in each for note in one.notes))
    if policy.collector == NONE:
        notes.append("Epsilon never collects")
    if any(run.profile.hides_order for run in vector.runs):
        notes.append(
            "the profile has no jumps in memory, as with Z and Shenandoah: make it with another collector"
        )
    iterations = sum(one.iterations for one in each)
    totals = _means(each, rows, level)
    return GcPrediction(policy, iterations, [one.collections for one in each], totals, notes)


@dataclass(frozen=True)
class _OfRun:
    """The counted collections of a run."""

    iterations: int
    collections: Sequence[Predicted]
    #: kind -> mean number in an iteration, and time, shape (invocations of the costs,), ns
    totals: Mapping[str, tuple[float, Floats]]
    notes: Sequence[str]


def _of_run(
    run: HeapRun, lives: Lifetimes, policy: Policy, costs: Mapping[str, Costs], rows: int, forced: bool
) -> _OfRun:
    bounds = _bounds(run, lives, forced)
    counted = run.counted or [0]
    found = simulate(lives, policy, [start for number, start in bounds if number >= 1] if forced else [])
    works = [_work_of(each, run, lives) for each in found]
    kinds = dict.fromkeys(each.kind for each in found)
    ns = np.full((rows, len(found)), math.nan)
    for kind in kinds:
        at = [place for place, each in enumerate(found) if each.kind == kind]
        if kind in costs:
            ns[:, at] = costs[kind].of([works[place] for place in at])
    collections, unforced = [], []
    for place, each in enumerate(found):
        iteration = _iteration_of(each, bounds)
        if iteration in counted:
            collections.append(Predicted(iteration, each, ns[:, place]))
            if each.kind == CYCLE and not each.forced:
                unforced.append(works[place])
    totals = {}
    for kind in (*KINDS, ALL):
        own = [each for each in collections if kind in (each.found.kind, ALL)]
        if own or kind == ALL:
            totals[kind] = _per_iteration([each.ns for each in own], len(counted), rows)
    times = {kind: [each.ns for each in collections if each.found.kind == kind] for kind in kinds}
    if CPU in costs:
        times[CPU] = list(costs[CPU].of(unforced).T)
        totals[CPU] = _per_iteration(times[CPU], len(counted), rows)
    notes = [
        f"no {CPU if kind == CPU else f'time of {kind} collections'}: {_why_unknown(kind in costs)}"
        for kind, own in times.items()
        if np.isnan(own).any()
    ]
    return _OfRun(len(counted), collections, totals, notes)


def _why_unknown(has_costs: bool) -> str:
    return "the costs give none above 0; measure more rounds of suite gc" if has_costs else "no costs"


def _per_iteration(ns: Sequence[Floats] | Floats, iterations: int, rows: int) -> tuple[float, Floats]:
    return len(ns) / iterations, np.sum(ns, axis=0) / iterations if len(ns) else np.zeros(rows)


def _means(each: Sequence[_OfRun], rows: int, level: float) -> dict[str, Total]:
    """Return the means over the runs. A run without collections of a kind has none in the mean."""
    none = (0.0, np.zeros(rows))
    totals = {}
    for kind in (*KINDS, ALL, CPU):
        if any(kind in one.totals for one in each):
            counts, ns = zip(*(one.totals.get(kind, none) for one in each), strict=True)
            totals[kind] = Total(math.fsum(counts) / len(counts), _interval(np.stack(ns), level))
    return totals


def _interval(ns: Floats, level: float) -> Interval:
    """Return the mean of times of shape (runs, invocations of the costs), with the errors of both.

    Source: `regatta.stats.mover`.
    """
    of_costs = mean_interval(ns.mean(axis=0), level, positive=True)
    per_run = ns.mean(axis=1)
    if not np.ptp(per_run) > 0.0:
        return of_costs
    of_runs = mean_interval(per_run, level, positive=True)
    both = (of_costs, of_runs)
    low, high = distances((one.point - one.low, one.high - one.point) for one in both)
    point, n = of_costs.point, min(ns.shape)
    return replace(of_costs, n=n, low=max(point - low, 0.0), high=point + high, method="MOVER")


def _bounds(run: HeapRun, lives: Lifetimes, forced: bool) -> Sequence[tuple[int, float]]:
    """Return the iterations and the clocks at which they start.

    With `System.gc()`, an iteration is that of the measured log: from its call to the next one. What a
    program prepares for the next iteration belongs to it. Without, it starts where the one before ends.
    """
    if forced:
        begins = run.profile.ends("before ").items()
        return [(0, 0.0), *sorted((number, float(lives.clock[at])) for number, at in begins if number >= 1)]
    ends = sorted((number, float(lives.clock[at])) for number, at in run.profile.ends().items())
    return [(0, 0.0), *((number + 1, end) for number, end in ends)]


def _iteration_of(found: SimulatedCollection, bounds: Sequence[tuple[int, float]]) -> int:
    """Return the iteration of a collection. A forced one at the start of an iteration belongs to it."""
    return max(number for number, start in bounds if start < found.at or (start == found.at and found.forced))


def _work_of(found: SimulatedCollection, run: HeapRun, lives: Lifetimes) -> Work:
    """Return what a simulated collection has to do."""
    # Objects that no collection has moved lie between dead ones.
    garbage = found.dead.bytes + found.dead_new.bytes
    jumps = run.profile.jumps * found.unmoved.objects
    if found.kind == YOUNG:
        return Work(
            found.policy.heap,
            moved=_of_mean_size(found.live - found.promoted),
            promoted=_of_mean_size(found.promoted),
            references=found.live.references,
            far_moved={found.live.bytes + garbage: jumps},
            old_bytes=found.old_bytes,
        )
    walk = run.profile.checkpoints[int(np.abs(lives.clock - found.at).argmin())]
    live = [(float(objects), float(size)) for _, objects, size in walk.live]
    # The objects that the JVM had before the program are in the fixed cost.
    alive = found.live - lives.live(0.0, float(lives.clock[0]), found.at)
    in_place = alive - found.promoted
    return Work(
        found.policy.heap,
        moved=_distribution(live, found.promoted),
        live=_distribution(live, in_place),
        dead=_distribution(run.allocated, found.dead),
        dead_new=_distribution(run.allocated, found.dead_new),
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
