"""The comparisons that `regatta predict gc` shows: applications, JVMs, collectors and heaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from regatta.answers.kit.plain import plain
from regatta.host.errors import Problem, SpecError
from regatta.host.values.benchmark_label import parts_of_label
from regatta.models.gc.comparison import Comparison, GcForecast, compare
from regatta.models.gc.heap_policy import COLLECTORS, DEFAULT_RELEASE, NONE, Policy, policy_of
from regatta.models.gc.heap_vector import HeapVector
from regatta.models.gc.lifetimes import Lifetimes
from regatta.models.gc.measured import Application, MeasuredCollections, Vm
from regatta.models.gc.prediction import predict_collections


@dataclass(frozen=True)
class ForecastRequest:
    """What to predict; empty: all that was measured."""

    collectors: Sequence[str] = ()
    runtimes: Sequence[str] = ()
    #: bytes
    heaps: Sequence[int] = ()
    forced: bool = True
    #: factors of all heap sizes, of the sizes of objects, and of the number of objects that a unit of work allocates
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
    """Predict every application on every asked JVM, collector and heap. The costs of the answer are those of the asked JVMs.

    Raises:
        SpecError: no costs of an asked collector or JVM, no heap size, sizes that a JVM does not have, or live objects that do not
            fit.
    """
    vms = _vms(measured, asked)
    found, notes = [], list(measured.notes)
    for vector in vectors:
        lives = [Lifetimes(run.profile, asked.objects, asked.rate) for run in vector.runs]
        for vm in vms:
            for heap in _heaps(vector, vm, measured, asked):
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
                own = _ran(vector, vm, heap, measured) if as_measured else None
                one = compare(vector.name, vector.per, vm, prediction, own, measured.warmup, measured.level)
                found.append(one)
                notes += [f"{vm.name}: {note}" for note in one.notes]
                if own and vector.warmup != measured.warmup:
                    notes.append(
                        f"{vector.name}: its vector leaves out {vector.warmup} iterations, the experiment {measured.warmup}"
                    )
    costs = {vm: measured.costs[vm] for vm in vms if vm in measured.costs}
    return GcForecast(found, replace(measured, costs=costs), tuple(dict.fromkeys(notes)))


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
            raise SpecError([Problem("--collector", f"one of {', '.join(COLLECTORS)}", name)])
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
        raise SpecError(
            [
                Problem(
                    "--collector" if asked.collectors else "--runtime" if asked.runtimes else "--on",
                    f"costs of {wanted}",
                    names,
                    "measure suite gc with it: configs/experiments/hbench-jgc.yml",
                )
            ]
        )
    return chosen


def _heaps(
    vector: HeapVector, vm: Vm, measured: MeasuredCollections, asked: ForecastRequest
) -> Sequence[int]:
    if asked.heaps:
        return asked.heaps
    own = sorted(one.heap_bytes for one in measured.applications if one.vm == vm and _is_of(one, vector))
    if not own:
        raise SpecError(
            [
                Problem(
                    "--heap", f"a heap size for {vector.name}", "none, and none was measured", "--heap 128m"
                )
            ]
        )
    return own


def _ran(vector: HeapVector, vm: Vm, heap: int, measured: MeasuredCollections) -> Application | None:
    return next(
        (
            one
            for one in measured.applications
            if one.vm == vm and one.heap_bytes == heap and _is_of(one, vector)
        ),
        None,
    )


def _is_of(application: Application, vector: HeapVector) -> bool:
    if application.benchmark == vector.benchmark:
        return True
    parts = parts_of_label(application.benchmark)
    return f"{parts.suite}/{parts.name}" == vector.benchmark


def as_document(found: GcForecast) -> dict[str, Any]:
    """Return the answer as JSON values; an unknown number is null."""
    costs = [
        {
            "host": vm.host,
            "runtime": vm.runtime,
            "collector": vm.collector,
            "kind": kind,
            "ns": {name: each.tolist() for name, each in costs.named().items()},
        }
        for vm, kinds in found.measured.costs.items()
        for kind, costs in kinds.items()
    ]
    comparisons = [_document(one) for one in found.comparisons]
    return {
        "level": found.measured.level,
        "notes": list(found.notes),
        "comparisons": comparisons,
        "costs": costs,
    }


def _document(one: Comparison) -> dict[str, Any]:
    return {
        "application": one.application,
        "per": one.per,
        "host": one.vm.host,
        "runtime": one.vm.runtime,
        "collector": one.vm.collector,
        "heap_bytes": one.policy.most_heap,
        "initial_heap_bytes": one.policy.heap,
        "young_bytes": one.policy.heap - one.policy.old,
        "promotion_age": one.policy.copies if one.policy.survivor else None,
        "rows": [plain(row) | {"error": plain(row.error)} for row in one.rows],
        "collections": [plain(pair) for pair in one.pairs],
    }
