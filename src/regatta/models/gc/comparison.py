"""Predicted and measured collections of applications: in total (table 5-5 of the thesis) and one by one (figure 5-9)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regatta.models.gc.cases import CPU
from regatta.models.gc.collection_log import CYCLE, MIXED, YOUNG, Collection
from regatta.models.gc.heap_policy import Policy
from regatta.models.gc.measured import FORCED, Application, MeasuredCollections, Ran, Vm
from regatta.models.gc.prediction import ALL, KINDS, GcPrediction, Predicted
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval


@dataclass(frozen=True)
class Pair:
    """One collection of an iteration, predicted and measured."""

    iteration: int
    #: place among the collections of its kind in the iteration, from 0
    place: int
    kind: str
    predicted_ns: float
    #: mean over invocations
    measured_ns: float


@dataclass(frozen=True)
class Row:
    """Collections of one kind per iteration; `all`: of all kinds; `CPU`: processor time of unforced ones."""

    kind: str
    predicted_count: float
    predicted: Interval
    #: NaN without measured runs
    measured_count: float = math.nan
    measured: Interval | None = None

    @property
    def error(self) -> float:
        """Return predicted / measured - 1; NaN if nothing was measured."""
        if self.measured is None or not self.measured.point > 0.0:
            return math.nan
        return self.predicted.point / self.measured.point - 1.0


@dataclass(frozen=True)
class Comparison:
    """An application in a heap on a JVM."""

    application: str
    per: str
    vm: Vm
    policy: Policy
    rows: Sequence[Row]
    pairs: Sequence[Pair] = ()
    notes: Sequence[str] = ()
    level: float = 0.95

    @property
    def heap_mib(self) -> float:
        """Return the size of the heap; of one that grows, the largest."""
        return self.policy.most_heap / 2**20

    @property
    def heap_text(self) -> str:
        """Return the size in MiB, as `256` or `32 to 256`."""
        return (
            f"{self.policy.heap / 2**20:g} to {self.heap_mib:g}"
            if self.policy.growth
            else f"{self.heap_mib:g}"
        )


@dataclass(frozen=True)
class GcForecast:
    """What `regatta predict gc` answers."""

    comparisons: Sequence[Comparison]
    measured: MeasuredCollections
    notes: Sequence[str] = field(default_factory=tuple)


def compare(
    name: str,
    per: str,
    vm: Vm,
    prediction: GcPrediction,
    measured: Application | None,
    warmup: int,
    level: float,
) -> Comparison:
    """Return a prediction with the measured collections beside it, if there are some.

    The mean over the counted iterations of an invocation is one value, so that intervals are over invocations.
    """
    runs = measured.runs if measured else ()
    rows = []
    for kind in (*KINDS, ALL, CPU):
        total = prediction.totals.get(kind)
        counts, sums = _measured_cpu(runs, warmup) if kind == CPU else _measured_of(runs, kind, warmup)
        if total is None and (kind == CPU or not any(counts)):
            continue
        rows.append(
            Row(
                kind,
                total.count if total else 0.0,
                total.time if total else mean_interval([0.0, 0.0], level),
                float(np.mean(counts)) if counts else math.nan,
                mean_interval(sums, level, positive=True) if sums else None,
            )
        )
    pairs = _pairs(prediction.runs, runs, warmup)
    notes = (*prediction.notes, *_stall_notes(name, runs))
    return Comparison(name, per, vm, prediction.policy, rows, pairs, notes, level)


def _stall_notes(name: str, runs: Sequence[Ran]) -> list[str]:
    """Return what the measured collections leave out: the waits of single threads for memory."""
    known = [run for run in runs if not run.stalls_missing]
    stalls = [one for run in known for one in run.stalls]
    notes = []
    if stalls:
        per_run = f"{len(stalls) / len(known):.3g} per invocation"
        total, longest = math.fsum(one.ns for one in stalls) / len(known), max(one.ns for one in stalls)
        notes.append(
            f"{name}: allocation stalls, in no collection: {per_run}, {total / 1e6:.3g} ms over all threads, longest "
            f"{longest / 1e6:.3g} ms"
        )
    notes += [
        f"{name}: allocation stalls: undefined ({reason})"
        for reason in dict.fromkeys(run.stalls_missing for run in runs)
        if reason
    ]
    return notes


def time_of(collection: Collection) -> float:
    """Return the time of a collection, ns: its pauses, and the concurrent phases of a cycle."""
    return collection.pause_ns + (collection.concurrent_ns if collection.kind == CYCLE else 0.0)


def _counted(run: Ran, warmup: int) -> Mapping[int, Sequence[Collection]]:
    return {number: found for number, found in run.iterations.items() if number >= max(warmup, 1)}


def _measured_of(runs: Sequence[Ran], kind: str, warmup: int) -> tuple[list[float], list[float]]:
    """Return of each run the mean number of collections in an iteration, and their mean time in ns."""
    counts, sums = [], []
    for run in runs:
        counted = _counted(run, warmup)
        if counted:
            own = [each for found in counted.values() for each in found if kind in (_kind(each), ALL)]
            counts.append(len(own) / len(counted))
            sums.append(math.fsum(map(time_of, own)) / len(counted))
    return counts, sums


def _measured_cpu(runs: Sequence[Ran], warmup: int) -> tuple[list[float], list[float]]:
    """Return of each run the mean number of collections that the program does not ask for, and the processor time."""
    counts, sums = [], []
    for run in runs:
        counted = _counted(run, warmup)
        if counted and math.isfinite(run.collector_cpu_ns):
            own = [each for found in counted.values() for each in found if each.cause != FORCED]
            counts.append(len(own) / len(counted))
            sums.append(run.collector_cpu_ns)
    return counts, sums


def _kind(collection: Collection) -> str:
    """Mixed collections of G1 are young ones that also collect old regions."""
    return YOUNG if collection.kind == MIXED else collection.kind


def _pairs(predicted: Sequence[Sequence[Predicted]], runs: Sequence[Ran], warmup: int) -> list[Pair]:
    """Match the collections of each kind in each iteration by their order: means over the profiled and the measured runs."""
    measured = [
        [
            (number, _kind(one), time_of(one))
            for number, found in _counted(run, warmup).items()
            for one in found
        ]
        for run in runs
    ]
    times = _by_place(measured)
    of_profiles = _by_place(
        [[(one.iteration, one.found.kind, float(np.mean(one.ns))) for one in run] for run in predicted]
    )
    return [
        Pair(number, place, kind, math.fsum(ns) / len(ns), math.fsum(several) / len(several))
        for (number, kind, place), ns in of_profiles.items()
        if (several := times.get((number, kind, place)))
    ]


def _by_place(runs: Sequence[Sequence[tuple[int, str, float]]]) -> dict[tuple[int, str, int], list[float]]:
    """Return iteration, kind and place among those of its kind -> the times in the runs that have such a collection."""
    found: dict[tuple[int, str, int], list[float]] = {}
    for run in runs:
        seen: dict[tuple[int, str], int] = {}
        for number, kind, ns in run:
            at = seen.get((number, kind), 0)
            seen[number, kind] = at + 1
            found.setdefault((number, kind, at), []).append(ns)
    return found
