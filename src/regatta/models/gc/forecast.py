"""What `regatta predict gc` answers: predicted and measured collections of applications.

Compared in total (table 5-5 of the thesis) and one by one (figure 5-9), by JVM, collector and heap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regatta.answers.kit.plain import plain
from regatta.host.errors import SpecError
from regatta.host.values.benchmark_label import parts_of_label
from regatta.models.gc.collection_log import CYCLE, MIXED, YOUNG, Collection
from regatta.models.gc.heap_policy import COLLECTORS, DEFAULT_RELEASE, NONE, Policy, policy_of
from regatta.models.gc.heap_vector import HeapVector
from regatta.models.gc.lifetimes import Lifetimes
from regatta.models.gc.measured import FORCED, Application, MeasuredCollections, Ran, Vm
from regatta.models.gc.prediction import ALL, KINDS, GcPrediction, Predicted, predict_collections
from regatta.models.gc.work import CPU
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


@dataclass(frozen=True)
class GcForecast:
    """What `regatta predict gc` answers."""

    comparisons: Sequence[Comparison]
    measured: MeasuredCollections
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class ForecastRequest:
    """What to predict; empty: all that was measured."""

    collectors: Sequence[str] = ()
    runtimes: Sequence[str] = ()
    #: bytes
    heaps: Sequence[int] = ()
    forced: bool = True
    #: factors of all heap sizes, of the sizes of objects, and of the number of objects that a unit of work
    #: allocates
    heap: float = 1.0
    objects: float = 1.0
    rate: float = 1.0
    #: size of the young generation, bytes; None: that of the measured applications
    young: int | None = None
    #: collections after which an object is promoted; None: as measured
    promotion_age: int | None = None
    #: size of each heap at the start, bytes; None: it does not grow
    initial_heap: int | None = None

    @property
    def changed(self) -> bool:
        """Return whether the predictions are of other objects or collections than the measured ones."""
        return (self.objects, self.rate) != (1.0, 1.0) or not self.forced


def forecast_of(
    vectors: Sequence[HeapVector], measured: MeasuredCollections, asked: ForecastRequest
) -> GcForecast:
    """Predict every application on every asked JVM, collector and heap.

    The costs of the answer are those of the asked JVMs.

    Raises:
        SpecError: no costs of an asked collector or JVM, no heap size, sizes that a JVM does not have, or
            live objects that do not fit.
    """
    vms = _vms(measured, asked)
    found, notes = [], list(measured.notes)
    for vector in vectors:
        lives = [Lifetimes(run.profile, asked.objects, asked.rate) for run in vector.runs]
        for vm in vms:
            ran = [one for one in measured.applications if one.vm == vm and _is_of(one, vector)]
            heaps = asked.heaps or sorted(one.heap_bytes for one in ran)
            if not heaps:
                got = "none, and none was measured"
                raise SpecError.of("--heap", f"a heap size for {vector.name}", got, "--heap 128m")
            for heap in heaps:
                policy = _policy(vm, heap, measured, asked)
                prediction = predict_collections(
                    vector,
                    policy,
                    measured.costs.get(vm, {}),
                    forced=asked.forced,
                    level=measured.level,
                    lives=lives,
                )
                as_measured = not asked.changed and policy == policy_of(vm.collector, heap)
                own = next((one for one in ran if as_measured and one.heap_bytes == heap), None)
                one = compare(vector.name, vector.per, vm, prediction, own, measured.warmup, measured.level)
                found.append(one)
                notes += [f"{vm.name}: {note}" for note in one.notes]
                if own and vector.warmup != measured.warmup:
                    notes.append(
                        f"{vector.name}: its vector leaves out {vector.warmup} iterations, "
                        f"the experiment {measured.warmup}"
                    )
    costs = {vm: measured.costs[vm] for vm in vms if vm in measured.costs}
    return GcForecast(found, replace(measured, costs=costs), tuple(dict.fromkeys(notes)))


def _is_of(application: Application, vector: HeapVector) -> bool:
    parts = parts_of_label(application.place.benchmark)
    return vector.benchmark in (application.place.benchmark, f"{parts.suite}/{parts.name}")


def _policy(vm: Vm, heap: int, measured: MeasuredCollections, asked: ForecastRequest) -> Policy:
    return policy_of(
        vm.collector,
        round(heap * asked.heap),
        young=asked.young,
        copies=asked.promotion_age,
        initial=asked.initial_heap,
        release=measured.releases.get(vm.runtime, DEFAULT_RELEASE),
    )


def _vms(measured: MeasuredCollections, asked: ForecastRequest) -> list[Vm]:
    for name in asked.collectors:
        if name not in COLLECTORS:
            raise SpecError.of("--collector", f"one of {', '.join(COLLECTORS)}", name)
    known = sorted(measured.costs)
    if NONE in asked.collectors:
        known += sorted({Vm(vm.host, vm.runtime, NONE) for vm in known})
    chosen = [
        vm
        for vm in known
        if (not asked.collectors or vm.collector in asked.collectors)
        and (not asked.runtimes or vm.runtime in asked.runtimes)
    ]
    if not chosen:
        names = ", ".join(dict.fromkeys(vm.name for vm in known)) or "none"
        wanted = " ".join((*asked.runtimes, *asked.collectors)) or "any collector"
        raise SpecError.of(
            "--collector" if asked.collectors else "--runtime" if asked.runtimes else "--on",
            f"costs of {wanted}",
            names,
            "measure suite gc with it: configs/experiments/hbench-jgc.yml",
        )
    return chosen


# Comparison with measurements


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

    The mean over the counted iterations of an invocation is one value, so that intervals are over
    invocations.
    """
    runs = measured.runs if measured else ()
    rows = []
    for kind in (*KINDS, ALL, CPU):
        total = prediction.totals.get(kind)
        counts, sums = _measured(runs, kind, warmup)
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
    return Comparison(name, per, vm, prediction.policy, rows, pairs, notes)


def _stall_notes(name: str, runs: Sequence[Ran]) -> list[str]:
    """Return what the measured collections leave out: the waits of single threads for memory."""
    known = [run for run in runs if not run.stalls_missing]
    stalls = [one for run in known for one in run.stalls]
    notes = []
    if stalls:
        per_run = f"{len(stalls) / len(known):.3g} per invocation"
        total, longest = math.fsum(one.ns for one in stalls) / len(known), max(one.ns for one in stalls)
        notes.append(
            f"{name}: allocation stalls, in no collection: {per_run}, "
            f"{total / 1e6:.3g} ms over all threads, longest {longest / 1e6:.3g} ms"
        )
    notes += [
        f"{name}: allocation stalls: undefined ({reason})"
        for reason in dict.fromkeys(run.stalls_missing for run in runs)
        if reason
    ]
    return notes


def _counted(run: Ran, warmup: int) -> Mapping[int, Sequence[Collection]]:
    return {number: found for number, found in run.iterations.items() if number >= max(warmup, 1)}


def _measured(runs: Sequence[Ran], kind: str, warmup: int) -> tuple[list[float], list[float]]:
    """Return the mean number of collections in an iteration of each run, and their mean time in ns.

    Of `CPU`: the number of collections that the program does not ask for, and their processor time, if it is
    known.
    """
    counts, sums = [], []
    for run in runs:
        counted = _counted(run, warmup)
        if not counted or (kind == CPU and not math.isfinite(run.collector_cpu_ns)):
            continue
        own = [each for found in counted.values() for each in found if _is_counted_as(each, kind)]
        counts.append(len(own) / len(counted))
        sums.append(run.collector_cpu_ns if kind == CPU else math.fsum(map(_time, own)) / len(counted))
    return counts, sums


def _is_counted_as(collection: Collection, kind: str) -> bool:
    return collection.cause != FORCED if kind == CPU else kind in (_kind(collection), ALL)


def _time(collection: Collection) -> float:
    """Return the time of a collection, ns: its pauses, and the concurrent phases of a cycle."""
    return collection.pause_ns + (collection.concurrent_ns if collection.kind == CYCLE else 0.0)


def _kind(collection: Collection) -> str:
    """Mixed collections of G1 are young ones that also collect old regions."""
    return YOUNG if collection.kind == MIXED else collection.kind


def _pairs(predicted: Sequence[Sequence[Predicted]], runs: Sequence[Ran], warmup: int) -> list[Pair]:
    """Match the collections of each kind in each iteration by their order: means over the runs."""
    measured = [
        [(number, _kind(one), _time(one)) for number, found in _counted(run, warmup).items() for one in found]
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
    """Return iteration, kind and place among those of its kind -> the times in the runs that have it."""
    found: dict[tuple[int, str, int], list[float]] = {}
    for run in runs:
        seen: dict[tuple[int, str], int] = {}
        for number, kind, ns in run:
            at = seen.get((number, kind), 0)
            seen[number, kind] = at + 1
            found.setdefault((number, kind, at), []).append(ns)
    return found


# JSON


def as_document(found: GcForecast) -> dict[str, Any]:
    """Return the answer as JSON values; an unknown number is null."""
    costs = [
        {**vars(vm), "kind": kind, "ns": {name: each.tolist() for name, each in costs.named().items()}}
        for vm, kinds in found.measured.costs.items()
        for kind, costs in kinds.items()
    ]
    return {
        "level": found.measured.level,
        "notes": list(found.notes),
        "comparisons": [_document(one) for one in found.comparisons],
        "costs": costs,
    }


def _document(one: Comparison) -> dict[str, Any]:
    return {
        "application": one.application,
        "per": one.per,
        **vars(one.vm),
        "heap_bytes": one.policy.most_heap,
        "initial_heap_bytes": one.policy.heap,
        "young_bytes": one.policy.heap - one.policy.old,
        "promotion_age": one.policy.copies if one.policy.survivor else None,
        "rows": [plain(row) | {"error": plain(row.error)} for row in one.rows],
        "collections": plain(one.pairs),
    }
