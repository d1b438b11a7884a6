"""Predict the collections of an application in a heap, with a collector, that it has not run with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regatta.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.gc.costs import Costs
from regatta.gc.heap_policy import Policy
from regatta.gc.heap_profile import Checkpoint, HeapProfile
from regatta.gc.lifetimes import Amount, Lifetimes
from regatta.gc.simulate import Found, simulate
from regatta.gc.work import Floats, Sizes, Work
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval

#: classes that a JVM loads for any program with the harness; their cost is in the fixed part
_CLASSES_OF_ALL = 500.0


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
    #: kind -> total of an iteration; `all`: of all kinds
    totals: Mapping[str, Total]
    #: why there is no collection, or what the prediction leaves out
    notes: Sequence[str] = ()


def predict_collections(
    profile: HeapProfile,
    policy: Policy,
    costs: Mapping[str, Costs],
    *,
    warmup: int = 1,
    forced: bool = True,
    level: float = 0.95,
    lives: Lifetimes | None = None,
) -> GcPrediction:
    """Predict the collections of the iterations after warm-up.

    Args:
        profile: of the application.
        policy: of the heap.
        costs: kind of collection -> its costs; a kind that occurs and has none is named in the notes.
        warmup: iterations to leave out, from the first.
        forced: whether each iteration after the first begins with `System.gc()` (modifier `full-collection`).
        level: of the intervals, over the invocations of the microbenchmarks.
        lives: of the profile, to build it only once.

    Raises:
        RegattaError: live objects do not fit into the heap.
    """
    lives = lives or Lifetimes(profile)
    ends = {number: lives.factor * walk.clock_bytes for number, walk in profile.ends().items()}
    begins = profile.starts().items()
    calls = [lives.factor * walk.clock_bytes for number, walk in begins if number >= 1] if forced else []
    found = simulate(lives, policy, calls)
    starts = sorted(ends.items())
    counted = [number for number in ends if number >= warmup]
    by_kind: dict[str, list[Found]] = {}
    for each in found:
        by_kind.setdefault(each.kind, []).append(each)
    times: dict[int, Floats] = {}
    notes = []
    for kind, several in by_kind.items():
        if kind not in costs:
            notes.append(f"no costs of {kind} collections")
            continue
        ns = costs[kind].of([work_of(each, profile, policy, lives.factor) for each in several])
        times.update({id(each): ns[:, at] for at, each in enumerate(several)})
    rows = max((cost.per.shape[0] for cost in costs.values()), default=1)
    collections = [
        Predicted(_iteration_of(each.at, starts), each, times.get(id(each), np.full(rows, math.nan)))
        for each in found
    ]
    collections = [each for each in collections if each.iteration in counted]
    if policy.collector == "epsilon":
        notes.append("Epsilon never collects")
    return GcPrediction(
        policy, len(counted), collections, _totals(collections, len(counted), rows, level), notes
    )


def _totals(collections: Sequence[Predicted], iterations: int, rows: int, level: float) -> dict[str, Total]:
    totals = {}
    for kind in (YOUNG, FULL, CYCLE, "all"):
        own = [each for each in collections if kind in (each.found.kind, "all")]
        if own or kind == "all":
            sums = np.sum([each.ns for each in own], axis=0) if own else np.zeros(rows)
            per = sums / max(iterations, 1)
            totals[kind] = Total(len(own) / max(iterations, 1), mean_interval(per, level))
    return totals


def _iteration_of(at: float, ends: Sequence[tuple[int, float]]) -> int:
    return next((number for number, end in ends if at <= end), -1)


def work_of(found: Found, profile: HeapProfile, policy: Policy, factor: float = 1.0) -> Work:
    """Return what a simulated collection has to do. `factor`: of the sizes of objects, against the profile."""
    walk = _nearest(profile, found.at / factor)
    share_of_walk = found.live.objects / walk.live_objects if walk.live_objects else 0.0
    references, far = walk.references * share_of_walk, walk.far * share_of_walk
    if found.kind == YOUNG:
        stay = found.live - found.promoted
        return Work(
            policy.heap,
            moved=_of_mean_size(stay),
            promoted=_of_mean_size(found.promoted),
            references=references,
            old_bytes=found.old_bytes,
        )
    sizes = _distribution(walk.live, found.live.objects, factor)
    share = found.promoted.objects / found.live.objects if found.live.objects else 0.0
    return Work(
        policy.heap,
        moved={size: count * share for size, count in sizes.items()},
        live={size: count * (1.0 - share) for size, count in sizes.items()},
        dead=_distribution(walk.allocated, found.dead.objects, factor),
        dead_new=_distribution(walk.allocated, found.dead_new.objects, factor),
        references=references,
        far={found.live.bytes: far * (1.0 - share)},
        far_moved={found.live.bytes: far * share},
        classes=max(walk.loaded_classes - _CLASSES_OF_ALL, 0.0),
    )


def _nearest(profile: HeapProfile, at: float) -> Checkpoint:
    return min(profile.checkpoints, key=lambda each: abs(each.clock_bytes - at))


def _of_mean_size(amount: Amount) -> Sizes:
    return {amount.bytes / amount.objects: amount.objects} if amount.objects > 0.0 else {}


def _distribution(bins: Sequence[tuple[int, float, float]], objects: float, factor: float) -> Sizes:
    """Return mean size -> objects, with the shares of the bins and another sum. `factor`: of the sizes."""
    whole = sum(count for _, count, _ in bins)
    if not whole:
        return {}
    return {factor * size / count: objects * count / whole for _, count, size in bins if count > 0}
