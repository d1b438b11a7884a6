"""The model of the run time with each collector: the curve, or the prediction of its collections.

The prediction is t(h) = a + s * G(h).

- `G` is the predicted time of the collections in an iteration, `prediction.py`. Forced collections between
  iterations do not count.
- `a` is the time without collections.
- `s` is at least 0. It is near 1 if the prediction is right and if collections cost nothing but their own
  time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regatta.host.errors import RegattaError, SpecError
from regatta.host.values.benchmark_label import parts_of_label
from regatta.models.gc.costs import Costs
from regatta.models.gc.heap_curve import (
    CURVES,
    HEAP_PRIORS,
    HeapCurve,
    HeapPoint,
    checked_points,
    curve_of_shapes,
    fit_curve,
    scrambled_normals,
)
from regatta.models.gc.heap_measurements import HeapMeasurements
from regatta.models.gc.heap_policy import policy_of
from regatta.models.gc.heap_vector import HeapVector
from regatta.models.gc.lifetimes import Lifetimes
from regatta.models.gc.measured import COLLECTED, MeasuredCollections, Vm, modifiers_of
from regatta.models.gc.prediction import predict_collections
from regatta.stats.estimate import Floats, Interval

CURVE, PREDICTION = "curve", "prediction"
#: Each heap is left out once, and two parameters need two of the others.
LEAST_HEAPS = 3
#: Predictions lie between half of the least measured heap, or the minimum heap, and this multiple of the
#: largest.
_HEAPS, _BEYOND = 24, 4.0
_LEAST_BYTES = float(2 << 20)
#: Prior standard deviation of log s. That of log(predicted / measured) is 0.60 in the table of docs/gc.md.
SCALE_SD = 0.6
#: s, in place of 0, of a program without collections
_NO_TIME = 1e-12
#: irrational step, unlike those of `heap_curve`
_BRONZE = (math.sqrt(13) - 3) / 2


@dataclass(frozen=True)
class CollectionTimes:
    """The predicted time of collections per iteration over the heap.

    `heaps`: bytes, ascending, without those into which the live objects do not fit. `seconds`: one per heap.
    Both empty if nothing is predicted; `reason` says why.
    """

    heaps: Floats
    seconds: Floats
    reason: str = ""

    def at(self, heap_bytes: float) -> float:
        """Return the time at a heap, interpolated over its logarithm; infinite if live objects do not fit."""
        return float(np.interp(math.log(heap_bytes), np.log(self.heaps), self.seconds, left=math.inf))


@dataclass(frozen=True)
class CollectionShape:
    """The overhead is proportional to the predicted time of collections: G(h) / `reference_s`."""

    times: CollectionTimes
    reference_s: float

    def reach(self, heap_bytes: float) -> Floats:
        """See `Shape`."""
        return np.array(self.times.at(heap_bytes) / self.reference_s)

    def heaps_for(self, reach: Floats) -> Floats:
        """See `Shape`. The time can rise with the heap: it is at most this one in all larger heaps."""
        most = np.maximum.accumulate(self.times.seconds[::-1]) / self.reference_s
        logs = np.interp(reach, most, np.log(self.times.heaps[::-1]), left=math.inf)
        return np.exp(logs)


def collection_times(
    vector: HeapVector,
    collector: str,
    costs: Mapping[str, Costs],
    heaps: Sequence[float],
    *,
    forced: bool,
    lives: Sequence[Lifetimes] = (),
) -> CollectionTimes:
    """Predict the collections at ascending heap sizes in bytes; see `predict_collections`."""
    fits, seconds, reason = [], [], "the live objects fit into none of the heaps"
    for heap in heaps:
        try:
            found = predict_collections(
                vector, policy_of(collector, round(heap)), costs, forced=forced, lives=lives
            )
        except RegattaError:
            continue
        own = [float(np.mean(one.ns)) for one in found.collections if not (forced and one.found.forced)]
        fits.append(heap)
        seconds.append(math.fsum(own) / 1e9 / max(found.iterations, 1))
        if not math.isfinite(seconds[-1]):
            return CollectionTimes(np.array([]), np.array([]), "; ".join(found.notes))
    return CollectionTimes(np.array(fits), np.array(seconds), "" if fits else reason)


def fit_collections(
    points: Sequence[HeapPoint],
    times: CollectionTimes,
    minheap_bytes: float = math.nan,
    model_sd: float = HEAP_PRIORS.model_sd,
) -> HeapCurve:
    """Fit a + s * G(h) to the measurements of one collector.

    Args:
        points, minheap_bytes: as in `fit_curve`.
        times: G, finite at each measured heap.
        model_sd: standard deviation of the logarithm of the model error at one heap.
    """
    ordered = checked_points(points, minheap_bytes)
    seconds = np.array([times.at(point.heap_bytes) for point in ordered])
    reference = float(seconds.max()) or float(times.seconds.max()) or _NO_TIME
    shape = CollectionShape(times, reference)

    def prior(log_extra: Floats, log_a: Floats) -> Floats:
        # s is the overhead in seconds, per second of predicted collections.
        cost: Floats = np.square((log_extra + log_a - math.log(reference)) / SCALE_SD)
        return cost

    return curve_of_shapes(
        ordered, minheap_bytes, seconds[None, :] / reference, prior, lambda _: shape, model_sd
    )


def predicted_curve(asymptote: Floats, times: CollectionTimes, minheap_bytes: float = math.nan) -> HeapCurve:
    """Return the curve of a collector that was not measured: s has its prior distribution.

    Args:
        asymptote: shape (CURVES,), seconds: the time without collections, of another collector.
        times: G, at one heap or more.
        minheap_bytes: NaN if unknown.
    """
    reference = float(times.seconds.max()) or _NO_TIME
    scale = np.exp(SCALE_SD * scrambled_normals(CURVES, _BRONZE))
    shape = CollectionShape(times, reference)
    overhead = scale * reference / asymptote
    return HeapCurve((), minheap_bytes, asymptote, overhead, shape, 0.0, HEAP_PRIORS.model_sd)


@dataclass(frozen=True)
class ModelChoice:
    """The model of one collector.

    Errors are of each heap, left out once: root mean square of logarithms; NaN if undefined.
    """

    collector: str
    #: `curve` or `prediction`
    used: str
    curve_error: float = math.nan
    prediction_error: float = math.nan
    #: s with its interval: measured / predicted time of collections
    scale: Interval | None = None
    #: why there is no prediction, or why the curve is used without a comparison
    reason: str = ""


@dataclass(frozen=True)
class HeapModels:
    """The models of one program. `second`: collector -> the model that is not used."""

    curves: Mapping[str, HeapCurve]
    second: Mapping[str, HeapCurve] = field(default_factory=dict)
    choices: Sequence[ModelChoice] = ()
    #: collectors that have costs but were not measured with the program
    unmeasured: Mapping[str, CollectionTimes] = field(default_factory=dict)


def choose_models(
    measured: HeapMeasurements, times: Mapping[str, CollectionTimes], level: float = 0.95
) -> HeapModels:
    """Choose the curve or the prediction for each collector: the one with the smaller leave-one-out error.

    With fewer than three heaps, it is the curve.

    Args:
        measured: times of the program.
        times: collector, in lower case -> its predicted collections.
        level: of the intervals of s.

    Source: Stone, "Cross-validatory choice and assessment of statistical predictions", JRSS B 36 (1974).
    """
    used, second, choices = measured.curves(), {}, []
    for name, points in measured.points.items():
        predicted = times.get(name.lower())
        reason = "no costs of this collector" if predicted is None else predicted.reason
        if (
            predicted is None
            or reason
            or not all(math.isfinite(predicted.at(one.heap_bytes)) for one in points)
        ):
            reason = reason or "the live objects of the profile do not fit into a measured heap"
            choices.append(ModelChoice(name, CURVE, reason=reason))
            continue
        prediction, choice = _compared(name, points, measured.minheap_bytes, predicted, level)
        choices.append(choice)
        second[name] = prediction
        if choice.used == PREDICTION:
            used[name], second[name] = prediction, used[name]
    known = {name.lower() for name in measured.points}
    unmeasured = {name: one for name, one in times.items() if name not in known and not one.reason}
    return HeapModels(used, second, choices, unmeasured)


def predicted_times(
    vector: HeapVector, measured: HeapMeasurements, costs: MeasuredCollections, runtime: str = ""
) -> dict[str, CollectionTimes]:
    """Predict the collections of a program with each collector that has costs, around the measured heaps.

    Args:
        vector, measured: of the program.
        costs: of collectors.
        runtime: JVM of the costs; "": that of the measurements, or the only one.

    Raises:
        SpecError: the vector is of another benchmark, or no single JVM has costs.
    """
    place = measured.place
    parts = parts_of_label(place.benchmark)
    if place.runtime and vector.benchmark and vector.benchmark != f"{parts.suite}/{parts.name}":
        fix = "choose the profile of APP"
        raise SpecError.of("--profile", f"a profile of {place.benchmark}", vector.benchmark, fix)
    heaps = {point.heap_bytes for points in measured.points.values() for point in points}
    least = 0.5 * min(heaps) if math.isnan(measured.minheap_bytes) else measured.minheap_bytes
    heaps |= set(np.geomspace(max(least, _LEAST_BYTES), _BEYOND * max(heaps), _HEAPS).tolist())
    lives, forced = [Lifetimes(run.profile) for run in vector.runs], COLLECTED in modifiers_of(place)
    return {
        vm.collector: collection_times(
            vector, vm.collector, costs.costs[vm], sorted(heaps), forced=forced, lives=lives
        )
        for vm in _of_one_jvm(costs, measured, runtime)
    }


def _of_one_jvm(costs: MeasuredCollections, measured: HeapMeasurements, runtime: str) -> list[Vm]:
    wanted = runtime or measured.place.runtime
    found = [vm for vm in sorted(costs.costs) if wanted in ("", vm.runtime)]
    found = [vm for vm in found if vm.host == measured.place.host] or found
    if len({(vm.host, vm.runtime) for vm in found}) == 1:
        return found
    got = ", ".join(dict.fromkeys(f"{vm.runtime} on {vm.host}" for vm in found or sorted(costs.costs)))
    expected = f"costs of suite gc on one host with {wanted or 'one runtime'}"
    fix = "add `--runtime NAME`, or measure suite gc: configs/experiments/hbench-jgc.yml"
    raise SpecError.of("--on", expected, got or "none", fix)


def _compared(
    name: str, points: Sequence[HeapPoint], minheap_bytes: float, times: CollectionTimes, level: float
) -> tuple[HeapCurve, ModelChoice]:
    """Return the prediction, whose model error is at least its leave-one-out error, and the choice."""
    curve_error, error, reason = math.nan, math.nan, f"fewer than {LEAST_HEAPS} heaps were measured"
    if len(points) >= LEAST_HEAPS:
        curve_error = _left_out(points, lambda rest: fit_curve(rest, minheap_bytes))
        error = _left_out(points, lambda rest: fit_collections(rest, times, minheap_bytes))
        reason = ""
    model_sd = float(np.nanmax((HEAP_PRIORS.model_sd, error)))
    prediction = fit_collections(points, times, minheap_bytes, model_sd)
    used = PREDICTION if error < curve_error else CURVE
    return prediction, ModelChoice(name, used, curve_error, error, _scale(prediction, level), reason)


def _left_out(points: Sequence[HeapPoint], fit: Callable[[Sequence[HeapPoint]], HeapCurve]) -> float:
    """Return the root mean square of log(predicted / measured), each heap predicted from the others."""
    logs = []
    for at, point in enumerate(points):
        found = fit([*points[:at], *points[at + 1 :]]).at(point.heap_bytes)
        logs.append(math.log(found.time.point / float(np.mean(point.seconds))))
    return math.sqrt(float(np.mean(np.square(logs))))


def _scale(prediction: HeapCurve, level: float) -> Interval:
    """Return the median of s and its interval."""
    assert isinstance(prediction.shape, CollectionShape)
    return prediction.posterior(prediction.extra * prediction.asymptote / prediction.shape.reference_s, level)
