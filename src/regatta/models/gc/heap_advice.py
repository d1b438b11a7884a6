"""Advice on the collector and the heap of one program, from curves of one collector or several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from regatta.answers.kit.plain import plain
from regatta.models.gc.heap_curve import (
    CURVES,
    POSTERIOR,
    TIGHT_FACTOR,
    HeapCurve,
    HeapPoint,
    HeapPrediction,
    NextHeap,
)
from regatta.models.gc.heap_models import CollectionTimes, predicted_curve
from regatta.stats.estimate import Floats, Interval
from regatta.stats.intervals import geometric_mean

#: Steps of permutations of curves, coprime with CURVES: curves of different collectors are independent of
#: each other.
_STEPS = (1, 1009, 1511, 2003, 2503, 3001, 3511, 907)
#: heaps of the table, as multiples of the recommended heap
_AROUND = (0.75, 1.0, 1.5, 2.0)
_MIB = float(1 << 20)
#: Larger heaps than this multiple of the largest measured one are not recommended.
_SUPPORTED = 2.0
#: Heaps at which two models of a collector are compared: this many up to this multiple of the largest
#: measured heap, or up to the recommended heap.
_COMPARED, _BEYOND = 40, 1.5
#: why stalls are unknown, and what to do
UNKNOWN_STALLS = (
    "measure the metric gc_stall, or the CSV column stall_max_ms; Shenandoah needs -XX:-ShenandoahPacing"
)


@dataclass(frozen=True)
class HeapRow:
    """A heap size. `invocations`: measured at this heap. `second`: of the model that is not used."""

    collector: str
    prediction: HeapPrediction
    invocations: int = 0
    second: HeapPrediction | None = None


@dataclass(frozen=True)
class Disagreement:
    """The heap at which two models of a collector have disjoint intervals and differ most."""

    collector: str
    #: of the model in use
    used: HeapPrediction
    second: HeapPrediction


@dataclass(frozen=True)
class NextMeasurement:
    """The measurement that shrinks the interval of the answer most, or that decides between two models."""

    collector: str
    heap: NextHeap
    #: None if the models agree, or if there is only one; else, `heap.shrinks_by` is NaN
    disagreement: Disagreement | None = None


@dataclass(frozen=True)
class OverheadAdvice:
    """The collector and the least heap that keep the run time near the best."""

    collector: str
    #: bytes; the point is infinite if no heap is known to meet the target
    heap: Interval
    #: predicted time with this heap; with the largest measured one, if no heap is known to meet the target
    prediction: HeapPrediction
    #: predicted time / least asymptote of all collectors - 1
    overhead: Interval
    target: float
    #: probability that this collector needs the least heap
    certainty: float
    #: why a part of the question is not answered
    refusals: tuple[str, ...]
    next: NextMeasurement
    rows: tuple[HeapRow, ...]
    #: collector that was not measured -> heap in bytes that it is predicted to need
    unmeasured: Mapping[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True)
class WaitRow:
    """How long a thread waits for the collector at a measured heap, in milliseconds.

    `wait`: geometric mean over invocations of the larger of the percentile of the pauses and the longest
    allocation stall. `stall_ms`: mean over invocations of the longest stall; NaN if unknown.
    """

    collector: str
    heap_bytes: float
    wait: Interval
    stall_ms: float
    seconds: float
    #: `yes`, `no` or `open`, if the interval contains the limit or is undefined, or if stalls are unknown
    meets: str


@dataclass(frozen=True)
class LatencyAdvice:
    """The measured collector and heap with waits below a limit: the least heap, then the least time."""

    #: None if no one is known
    chosen: WaitRow | None
    limit_ms: float
    refusals: tuple[str, ...]
    #: collector and heap in bytes to measure next; None if nothing is open
    next: tuple[str, float] | None
    rows: tuple[WaitRow, ...]


def advise_overhead(
    curves: Mapping[str, HeapCurve],
    target: float,
    level: float = 0.95,
    second: Mapping[str, HeapCurve] | None = None,
    unmeasured: Mapping[str, CollectionTimes] | None = None,
) -> OverheadAdvice:
    """Choose the collector and heap whose run time exceeds the least asymptote of all collectors by a target.

    Args:
        curves: collector -> its curve; one or more.
        target: permitted overhead as a share, > 0: 0.05 is 5 %.
        second: collector -> another model of it, to compare.
        unmeasured: collector -> its predicted collections. It is never chosen. Without collections, it is
            supposed to need the least asymptote of the others.

    Returns:
        The collector with the least heap. The heap is never below what the measurements support; if the
        target would permit a smaller one, `refusals` says so. It is infinite if it would be above 2 x the
        largest measured one. Its interval is that of the heap that the target needs.

    Raises:
        ValueError: no curve, or a value that is not in its range.
    """
    if not curves:
        raise ValueError("curves: expected one collector or more · got none")
    if not (math.isfinite(target) and target > 0):
        raise ValueError(f"target: expected a positive share · got {target:g}")
    orders = {name: _order(number) for number, name in enumerate(curves)}
    best = np.min([curve.asymptote[orders[name]] for name, curve in curves.items()], axis=0)
    needed: dict[str, Floats] = {}
    for name, curve in curves.items():
        limit = np.empty(CURVES)
        limit[orders[name]] = (1 + target) * best
        needed[name] = curve.heaps_for(limit)
    heaps = {name: _needed(needed[name], curves[name], level) for name in curves}
    chosen = min(
        curves,
        key=lambda name: (heaps[name].point, curves[name].posterior(curves[name].asymptote, level).point),
    )
    least = np.min([needed[name][orders[name]] for name in curves], axis=0)
    certainty = float(np.mean(needed[chosen][orders[chosen]] <= least))
    curve, heap = curves[chosen], heaps[chosen]
    shown = heap.point if math.isfinite(heap.point) else curve.largest_measured
    refusals = _refusals(curves, chosen, heap, certainty, level)
    following = _next(curves, needed, heaps, chosen, certainty, level, second or {})
    if following.disagreement:
        refusals += (
            f"model of {following.collector}: curve and prediction differ by more than their intervals",
        )
    predicted = {
        name: predicted_curve(best, times, curve.minheap_bytes) for name, times in (unmeasured or {}).items()
    }
    needs = {name: one.heap_for((1 + target) * best, level) for name, one in predicted.items()}
    rows = _rows(curves, heaps, level, second or {}) + _predicted_rows(predicted, needs, heap, level)
    return OverheadAdvice(
        collector=chosen,
        heap=heap,
        prediction=curve.at(shown, level),
        overhead=_central(curve.predicted_times(shown)[orders[chosen]] / best - 1, curve, level),
        target=target,
        certainty=certainty,
        refusals=refusals,
        next=following,
        rows=rows,
        unmeasured=needs,
    )


def advise_latency(
    points: Mapping[str, Sequence[HeapPoint]],
    limit_ms: float,
    level: float = 0.95,
    stalls_ms: Mapping[tuple[str, float], float] | None = None,
) -> LatencyAdvice:
    """Choose the measured collector and heap whose pauses and allocation stalls are below a limit.

    Waits are never extrapolated to other heaps or collectors: a few long pauses decide their percentile.

    Args:
        points: collector -> measurements; only those with `pauses_ms` count, which include stalls as in
            `HeapMeasurements`.
        level: of the intervals over invocations.
        stalls_ms: collector and heap in bytes -> mean longest stall, NaN if unknown; None or without an
            entry: no stalls. A cell with unknown stalls is never chosen.

    Returns:
        The least heap, and then the least time, among cells whose whole interval is at most the limit.

    Raises:
        ValueError: the limit is not positive.
    """
    if not (math.isfinite(limit_ms) and limit_ms > 0):
        raise ValueError(f"limit_ms: expected a positive number · got {limit_ms:g}")
    rows = [
        _wait_row(name, point, (stalls_ms or {}).get((name, point.heap_bytes), 0.0), limit_ms, level)
        for name, given in points.items()
        for point in sorted(given, key=lambda one: one.heap_bytes)
        if len(point.pauses_ms)
    ]
    ready = sorted((row for row in rows if row.meets == "yes"), key=lambda row: (row.heap_bytes, row.seconds))
    chosen = ready[0] if ready else None
    refusals = []
    if not rows:
        refusals.append("no pauses were measured")
    elif chosen is None:
        refusals.append("at no measured heap are the pauses and stalls known to be below the limit")
    unknown = dict.fromkeys(row.collector for row in rows if math.isnan(row.stall_ms) and row.meets == "open")
    if unknown:
        refusals.append(f"allocation stalls of {', '.join(unknown)}: unknown ({UNKNOWN_STALLS})")
    return LatencyAdvice(chosen, limit_ms, tuple(refusals), _next_waits(rows, chosen), tuple(rows))


def as_document(advice: OverheadAdvice | LatencyAdvice) -> dict[str, Any]:
    """Return advice as JSON values; an unknown number is null."""
    if isinstance(advice, LatencyAdvice):
        chosen = advice.chosen and _wait_document(advice.chosen)
        found = vars(advice) | {"chosen": chosen, "rows": [_wait_document(row) for row in advice.rows]}
        return dict(plain(found))
    overhead, following = advice.overhead, advice.next
    found = {
        "collector": advice.collector,
        "heap": _heap_document(advice.heap),
        "prediction": _prediction_document(advice.prediction),
        "overhead": overhead.point,
        "overhead_low": overhead.low,
        "overhead_high": overhead.high,
        "target": advice.target,
        "certainty": advice.certainty,
        "refusals": advice.refusals,
        "next": vars(following) | {"disagreement": _with_predictions(following.disagreement)},
        "rows": [_with_predictions(row) for row in advice.rows],
        "unmeasured": {name: _heap_document(heap) for name, heap in advice.unmeasured.items()},
    }
    return dict(plain(found))


def _heap_document(heap: Interval) -> dict[str, Any]:
    ends = {"low": heap.low, "high": heap.high, "level": heap.level}
    return {"heap_bytes": heap.point, **ends, "refused": heap.reason}


def _prediction_document(one: HeapPrediction) -> dict[str, Any]:
    ends = {"low": one.time.low, "high": one.time.high, "level": one.time.level}
    numbers = {"heap_bytes": one.heap_bytes, "seconds": one.time.point, **ends}
    return {**numbers, "measured": one.measured, "refused": one.time.reason}


def _with_predictions(of: HeapRow | Disagreement | None) -> dict[str, Any] | None:
    """Return the fields of a result, with those that are predictions as JSON values."""
    if of is None:
        return None
    return {
        name: _prediction_document(value) if isinstance(value, HeapPrediction) else value
        for name, value in vars(of).items()
    }


def _wait_document(row: WaitRow) -> dict[str, Any]:
    return {
        "collector": row.collector,
        "heap_bytes": row.heap_bytes,
        "wait_ms": row.wait.point,
        "low": row.wait.low,
        "high": row.wait.high,
        "stall_ms": row.stall_ms,
        "seconds": row.seconds,
        "invocations": row.wait.n,
        "meets": row.meets,
    }


# Overhead


def _order(number: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    step = _STEPS[number % len(_STEPS)]
    return (np.arange(CURVES, dtype=np.int64) * step + number) % CURVES


def _central(values: Floats, curve: HeapCurve, level: float) -> Interval:
    """Return the median and the central interval of one value per curve."""
    ordered = np.sort(values)
    low, middle, high = (
        float(ordered[round(p * (CURVES - 1))]) for p in ((1 - level) / 2, 0.5, (1 + level) / 2)
    )
    return Interval(len(curve.points), middle, low, high, level, POSTERIOR)


def _needed(heaps: Floats, curve: HeapCurve, level: float) -> Interval:
    """Return the needed heap, at least the least heap that the measurements support."""
    found = _central(heaps, curve, level)
    middle = found.point
    if not math.isfinite(middle):
        return replace(found, reason="it does not reach the target")
    reason, supported = curve.why_refused(middle), curve.least_measured
    if reason and middle < supported:
        tight = TIGHT_FACTOR * curve.minheap_bytes
        if len(curve.points) > 1 and tight < supported:
            supported = max(tight, middle)
        found = replace(found, point=supported, high=max(found.high, supported))
    if found.point > _SUPPORTED * curve.largest_measured:
        # The asymptotes of noisy curves decide what larger heaps would bring: no measurement supports it.
        reason = f"the needed heap is more than {_SUPPORTED:g} x the largest measured one"
        found = replace(found, point=math.inf)
    return replace(found, reason=reason)


def _refusals(
    curves: Mapping[str, HeapCurve], chosen: str, heap: Interval, certainty: float, level: float
) -> tuple[str, ...]:
    found = []
    if heap.reason:
        what = f"heap of {chosen}: smaller heaps are " if math.isfinite(heap.point) else ""
        found.append(what + heap.reason)
    if not math.isfinite(heap.high):
        found.append(f"heap of {chosen}: no upper end, because the asymptote is uncertain")
    if len(curves) > 1 and certainty < level:
        found.append(f"collector: the measurements decide for {chosen} with probability {certainty:.2f} only")
    return tuple(found)


def _next(
    curves: Mapping[str, HeapCurve],
    needed: Mapping[str, Floats],
    heaps: Mapping[str, Interval],
    chosen: str,
    certainty: float,
    level: float,
    second: Mapping[str, HeapCurve],
) -> NextMeasurement:
    """Return the next measurement: where models disagree most; else of the least certain collector.

    If the choice is not open, only the chosen collector counts. If no heap is known to meet the target, it is
    a larger one.
    """
    names = list(curves) if certainty < level else [chosen]
    found = [
        one
        for name in names
        if name in second
        for one in _disjoint(name, curves[name], second[name], heaps[name].point, level)
    ]
    if found:
        most = max(found, key=lambda one: abs(math.log(one.used.time.point / one.second.time.point)))
        return NextMeasurement(most.collector, NextHeap(most.used.heap_bytes, math.nan), most)
    if not math.isfinite(heaps[chosen].point):
        return NextMeasurement(chosen, NextHeap(_SUPPORTED * curves[chosen].largest_measured, math.nan))
    best = max(names, key=lambda name: (_spread(needed[name]), name == chosen))
    return NextMeasurement(best, curves[best].next_heap(needed[best]))


def _disjoint(
    collector: str, used: HeapCurve, second: HeapCurve, needed_bytes: float, level: float
) -> list[Disagreement]:
    """Return new heaps, supported by the measurements, at which the intervals of two models are disjoint."""
    found = []
    top = max(_BEYOND * used.largest_measured, needed_bytes if math.isfinite(needed_bytes) else 0.0)
    for heap in np.geomspace(0.5 * used.least_measured, top, _COMPARED).tolist():
        if used.why_refused(heap) or any(abs(heap / point.heap_bytes - 1) <= 0.05 for point in used.points):
            continue
        one = Disagreement(collector, used.at(heap, level), second.at(heap, level))
        both = one.used.time, one.second.time
        if all(math.isfinite(each.high) for each in both) and (
            max(each.low for each in both) > min(each.high for each in both)
        ):
            found.append(one)
    return found


def _spread(values: Floats) -> float:
    """Return the standard deviation of logarithms of the finite values; 0 if more than half are infinite."""
    finite = values[np.isfinite(values) & (values > 0)]
    return float(np.log(finite).std()) if finite.size > CURVES / 2 else 0.0


def _rows(
    curves: Mapping[str, HeapCurve],
    heaps: Mapping[str, Interval],
    level: float,
    second: Mapping[str, HeapCurve],
) -> tuple[HeapRow, ...]:
    """Return measured heaps and heaps around the recommended one, ascending, per collector."""
    rows = []
    for name, curve in curves.items():
        measured = {point.heap_bytes: len(point.seconds) for point in curve.points}
        wanted = set(measured)
        middle = heaps[name].point
        if math.isfinite(middle):
            least = 0.0 if math.isnan(curve.minheap_bytes) else curve.minheap_bytes
            new = (math.ceil(middle * factor / _MIB) * _MIB for factor in _AROUND)
            wanted |= {
                heap for heap in new if heap >= least and all(abs(heap / one - 1) > 0.05 for one in measured)
            }
        rows += [
            HeapRow(
                name,
                curve.at(heap, level),
                measured.get(heap, 0),
                second[name].at(heap, level) if name in second else None,
            )
            for heap in sorted(wanted)
        ]
    return tuple(rows)


def _predicted_rows(
    curves: Mapping[str, HeapCurve], needs: Mapping[str, Interval], chosen: Interval, level: float
) -> tuple[HeapRow, ...]:
    """Return the recommended heap and the needed one of each collector that was not measured, ascending."""
    wanted = {
        name: {math.ceil(heap / _MIB) * _MIB for heap in (chosen.point, need.point) if math.isfinite(heap)}
        for name, need in needs.items()
    }
    return tuple(
        HeapRow(name, curves[name].at(heap, level))
        for name, heaps in wanted.items()
        for heap in sorted(heaps)
    )


# Latency


def _wait_row(name: str, point: HeapPoint, stall_ms: float, limit_ms: float, level: float) -> WaitRow:
    wait = geometric_mean([max(each, 1e-6) for each in point.pauses_ms], level)
    meets = "open"
    if math.isfinite(wait.low) and math.isfinite(wait.high):
        if wait.low > limit_ms:
            meets = "no"
        elif wait.high <= limit_ms and not math.isnan(stall_ms):
            meets = "yes"
    return WaitRow(name, point.heap_bytes, wait, stall_ms, float(np.mean(point.seconds)), meets)


def _next_waits(rows: Sequence[WaitRow], chosen: WaitRow | None) -> tuple[str, float] | None:
    """Return the smallest open cell below the chosen heap; else the middle between it and one that fails."""
    below = [row for row in rows if chosen is None or row.heap_bytes < chosen.heap_bytes]
    undecided = [row for row in below if row.meets == "open"]
    if undecided:
        row = min(undecided, key=lambda one: one.heap_bytes)
        return row.collector, row.heap_bytes
    if chosen is None:
        if not rows:
            return None
        row = min(rows, key=lambda one: one.wait.point)
        return row.collector, 2 * row.heap_bytes
    failing = [row.heap_bytes for row in below if row.collector == chosen.collector]
    if not failing:
        return None
    return chosen.collector, math.sqrt(max(failing) * chosen.heap_bytes)
