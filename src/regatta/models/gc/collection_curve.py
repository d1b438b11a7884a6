"""Run time over heap size from predicted collections: t(h) = a + s * G(h).

- `G` is the predicted time of the collections in an iteration, `prediction.py`. Forced collections between iterations do not count.
- `a` is the time without collections.
- `s` is at least 0. It is near 1 if the prediction is right and if collections cost nothing but their own time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regatta.host.errors import RegattaError
from regatta.models.gc.costs import Costs
from regatta.models.gc.heap_curve import (
    CURVES,
    Floats,
    HeapCurve,
    HeapPoint,
    checked_points,
    curve_of_shapes,
    scrambled_normals,
)
from regatta.models.gc.heap_policy import policy_of
from regatta.models.gc.heap_priors import HEAP_PRIORS
from regatta.models.gc.heap_vector import HeapVector
from regatta.models.gc.lifetimes import Lifetimes
from regatta.models.gc.prediction import predict_collections

#: Prior standard deviation of log s. That of log(predicted / measured) is 0.60 in the table of docs/gc.md.
SCALE_SD = 0.6
#: s, in place of 0, of a program without collections
_NO_TIME = 1e-12
#: irrational step, unlike those of `heap_curve`
_BRONZE = (math.sqrt(13) - 3) / 2


@dataclass(frozen=True)
class CollectionTimes:
    """The predicted time of collections per iteration over the heap.

    `heaps`: bytes, ascending, without those into which the live objects do not fit. `seconds`: one per heap. Both empty if nothing
    is predicted; `reason` says why.
    """

    heaps: Floats
    seconds: Floats
    reason: str = ""

    def at(self, heap_bytes: float) -> float:
        """Return the time at a heap, interpolated over its logarithm; infinite where the live objects do not fit."""
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
    """Predict the collections at heap sizes.

    Args:
        vector: of the application.
        collector: as in `policy_of`.
        costs: kind of collection -> its costs.
        heaps: bytes; ascending.
        forced: as in `predict_collections`.
        lives: as in `predict_collections`.
    """
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
