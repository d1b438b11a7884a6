"""What a collector adds to the elapsed time of an application: pauses, and concurrent work for which no processor is free."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regatta.models.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.models.gc.heap_policy import CONCURRENT, DEFAULT_RELEASE, policy_of
from regatta.models.gc.heap_vector import HeapVector
from regatta.models.gc.measured import MeasuredCollections, Vm
from regatta.models.gc.prediction import GcPrediction, Total, predict_collections
from regatta.models.gc.work import CPU
from regatta.models.vectors.model_error import ModelError, with_model_error
from regatta.models.vectors.values import Value
from regatta.stats.mover import distances

#: kind -> error of its predicted time per unit of work, from the seven applications of docs/gc.md. Leaving each out,
#: `perf/accuracy/predicting.py` counts how many intervals contain the measured time.
MODEL_ERRORS = {
    YOUNG: ModelError(0.725, 0.0, 7),
    FULL: ModelError(0.268, 0.0, 7),
    CYCLE: ModelError(0.454, 0.0, 7),
}
_MIB = 1 << 20


@dataclass(frozen=True)
class AddedTime:
    """Elapsed time per unit of work that the collector adds."""

    #: ns
    time: Value
    #: how many collections in which heap, and what overlaps
    words: str
    #: what the prediction leaves out
    notes: Sequence[str] = ()


def added_time(
    vector: HeapVector,
    vm: Vm,
    heap_bytes: int,
    measured: MeasuredCollections,
    *,
    processors: int | None,
    threads: float,
    level: float,
) -> AddedTime:
    """Predict what a collector adds to the elapsed time of an application in a heap.

    Serial, Parallel and G1 stop the application. Z and Shenandoah work in t = max(1, processors // 4) threads next to its `threads`.
    If processors are shared equally, a cycle with the processor time C delays it by C (threads + t - processors) / (t processors), at
    least 0, and at most C / processors. The interval contains every overlap, from no delay to C / processors.

    Args:
        vector: what the application has in its heap. Iterations do not begin with a forced collection.
        vm: a JVM of which `measured` has costs.
        heap_bytes: size of its heap.
        measured: the costs.
        processors: of the host; None: unknown, so that nothing is known of Z and Shenandoah.
        threads: of the application that work at the same time.
        level: of the interval, from 0 to 1. It has the model's own error.

    Raises:
        RegattaError: live objects do not fit, or no JVM has such a heap.
    """
    policy = policy_of(vm.collector, heap_bytes, release=measured.releases.get(vm.runtime, DEFAULT_RELEASE))
    costs = measured.costs.get(vm, {})
    found = predict_collections(vector, policy, costs, forced=False, level=level)
    where = f"in {heap_bytes / _MIB:g} MiB"
    if vm.collector in CONCURRENT:
        time, words = _of_cycles(found, processors, threads, level)
        return AddedTime(time, f"{words} {where}", found.notes)
    kinds = [kind for kind in (YOUNG, FULL) if kind in found.totals]
    each = [_with_own_error(found.totals[kind], kind, level) for kind in kinds]
    low, high = distances((one.value - one.low, one.high - one.value) for one in each)
    point = math.fsum(one.value for one in each)
    reason = next(
        (
            f"no cost of {kind} collections"
            for kind, one in zip(kinds, each, strict=True)
            if math.isnan(one.value)
        ),
        "",
    )
    counts = " and ".join(f"{found.totals[kind].count:.3g} {kind}" for kind in kinds) or "no"
    time = Value(point, max(point - low, 0.0), point + high, reason=reason)
    return AddedTime(time, f"{counts} collections per {vector.per} {where}", found.notes)


def _of_cycles(
    found: GcPrediction, processors: int | None, threads: float, level: float
) -> tuple[Value, str]:
    cycles, cpu = found.totals.get(CYCLE), found.totals.get(CPU)
    if cycles is None:
        return Value.exact(0.0), "no cycles"
    if cpu is None or math.isnan(cpu.time.point):
        return Value(math.nan, reason="no cost of cycles in processor time"), f"{cycles.count:.3g} cycles"
    if processors is None:
        return Value(math.nan, reason="unknown number of processors"), f"{cycles.count:.3g} cycles"
    work = _with_own_error(cpu, CYCLE, level)
    own = max(1, processors // 4)
    part = max(0.0, threads + own - processors) / (own * processors)
    # All processors share the work if the application alone can use them all.
    part = min(part, 1.0 / processors)
    delayed = Value(work.value * part, 0.0, work.high / processors)
    overlap = "on a free processor" if part == 0.0 else "that shares the processors"
    return delayed, f"{cycles.count:.3g} cycles with {work.value / 1e6:.3g} ms of processor time {overlap}"


def _with_own_error(total: Total, kind: str, level: float) -> Value:
    return with_model_error(Value.of(total.time), MODEL_ERRORS[kind], level)
