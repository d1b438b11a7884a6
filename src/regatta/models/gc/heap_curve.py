"""Run time over heap size: a curve with few parameters, fitted to measurements at one heap or more.

The model of the time at heap `h` is

    t(h) = a * (1 + e * ((h0 - live) / (h - live)) ** p)

- `a` is the asymptote: the time without the cost of a small heap.
- `e` is the overhead at `h0`, the smallest measured heap, as a share of `a`.
- `live` is the live data that count for collections. It is below the minimum heap, which holds the peak of
  the live data.
- `p` is the power. With a constant cost per collection it is 1, because the number of collections is
  allocation / (h - live). It is larger if a larger heap also makes each collection cheaper: more objects die
  before it, and marking starts less often.

Few heaps do not determine four parameters. `live` and `p` therefore have prior distributions, `HEAP_PRIORS`.
All results are quantiles of the posterior distribution, so their intervals include what the data do not
determine.

No program follows the curve exactly. The logarithm of the time at a heap therefore has a model error with the
variance

    model_sd ** 2 + (overhead_sd * (t - a) / t) ** 2

The second term is an error of the overhead, which is relative: without it, measurements at heaps with a large
overhead would determine all other heaps too precisely.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regatta.stats.estimate import Floats, Interval, check_level, undefined

#: Number of equally likely curves that represent the posterior distribution.
CURVES = 4000
#: method of all intervals
POSTERIOR = "posterior"
#: Below this multiple of the minimum heap, the time depends on details that larger heaps do not show. In the
#: published data, the overhead at 1 x divided by that at 2 x lies between 8 and 200.
TIGHT_FACTOR = 1.5
#: A measured heap supports predictions down to this share of it.
_NEAR = 0.9
#: Prior of the variance of log times of one heap: 1 % with the weight of two invocations, because few
#: invocations can agree by chance.
_PRIOR_SD, _PRIOR_DF = 0.01, 2
#: Overheads between these limits, as shares of the asymptote, are considered.
_LEAST_EXTRA, _MOST_EXTRA = 1e-4, 300.0
_COARSE, _FINE = 150, 41
#: Costs this far above the least have no weight: exp(-18 / 2) is 1e-4.
_FAR = 18.0
#: irrational steps of scrambled sequences
_GOLDEN, _SILVER = (math.sqrt(5) - 1) / 2, math.sqrt(2) - 1
#: Candidates for the next heap lie between the least heap that can run and this multiple of the largest
#: measured heap.
_CANDIDATES, _BEYOND = 40, 1.5


@dataclass(frozen=True)
class HeapPriors:
    """Normal prior distributions: mean and standard deviation of each."""

    #: live data that count for collections / minimum heap
    live_share: float = 0.8
    live_sd: float = 0.15
    #: power of the free heap
    power: float = 1.5
    power_sd: float = 0.5
    #: log of the overhead at 2 x minheap, as a share of the asymptote
    extra_log_at_2x: float = -2.3
    extra_log_sd: float = 2.0
    #: log of overhead / (time in pauses / rest of the time)
    pause_log_ratio: float = 0.3
    pause_log_sd: float = 1.0
    #: model error of the mean time at a heap without overhead, and of the overhead at one heap, both on the
    #: log scale
    model_sd: float = 0.008
    overhead_sd: float = 0.15


#: From G1 on OpenJDK 21 at 1 to 10 x minheap, 22 programs of DaCapo Chopin
#: (github.com/dacapobench/dacapobench, commit 4e3de06, Apache License 2.0), whose means are in
#: `tests/reference/dacapo_heaps.csv`. `perf/run heap_advice` chooses these values, and predicts each program
#: with values that are chosen without it.
HEAP_PRIORS = HeapPriors()


@dataclass(frozen=True)
class HeapPoint:
    """Measurements of one collector at one heap size.

    `seconds`: run time of each invocation, > 0. `pause_share`: share of the run time in pauses of the
    collector, from its log, in [0, 1); NaN if unknown. `pauses_ms`: the pause percentile of each invocation
    in milliseconds; empty if unknown.
    """

    heap_bytes: float
    seconds: Sequence[float]
    pause_share: float = math.nan
    pauses_ms: Sequence[float] = ()


@dataclass(frozen=True)
class HeapPrediction:
    """The mean run time at one heap, in seconds. `time.reason`: why its numbers are not to be relied on."""

    heap_bytes: float
    time: Interval
    measured: bool = False


@dataclass(frozen=True)
class NextHeap:
    """The heap that is most worth measuring.

    `shrinks_by`: expected share, in [0, 1], by which the interval of the answer shrinks; NaN if undefined.
    """

    heap_bytes: float
    shrinks_by: float


class Shape(Protocol):
    """How the overhead of each curve depends on the heap. Arrays: shape (CURVES,), or one number for all."""

    def reach(self, heap_bytes: float) -> Floats:
        """Return the overhead at a heap / `HeapCurve.extra`; infinite where the live data do not fit."""

    def heaps_for(self, reach: Floats) -> Floats:
        """Return the heap in bytes from which on the overhead / `HeapCurve.extra` is at most `reach` > 0."""


@dataclass(frozen=True)
class PowerShape:
    """A power of the free heap: ((h0 - live) / (h - live)) ** p, with the smallest measured heap h0."""

    least_measured: float
    live_bytes: Floats
    power: Floats

    def reach(self, heap_bytes: float) -> Floats:
        """See `Shape`."""
        free = heap_bytes - self.live_bytes
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            found = ((self.least_measured - self.live_bytes) / free) ** self.power
        return np.where(free > 0, found, np.inf)

    def heaps_for(self, reach: Floats) -> Floats:
        """See `Shape`."""
        with np.errstate(divide="ignore", over="ignore"):
            return self.live_bytes + (self.least_measured - self.live_bytes) * (1.0 / reach) ** (
                1.0 / self.power
            )


@dataclass(frozen=True)
class HeapCurve:
    """Equally likely curves given the measurements of one collector. Each array has shape (CURVES,)."""

    #: ascending by heap; empty if the collector was not measured but predicted
    points: tuple[HeapPoint, ...]
    #: in bytes; NaN if unknown
    minheap_bytes: float
    asymptote: Floats = field(repr=False)
    extra: Floats = field(repr=False)
    shape: Shape = field(repr=False)
    #: standard error of the logarithm of the mean time at one more measured heap
    noise: float
    #: standard deviation of the logarithm of the model error at a heap without overhead
    model_sd: float
    #: standard deviation of the logarithm of the error of the overhead at one heap
    overhead_sd: float = 0.0

    @property
    def least_measured(self) -> float:
        """Return the smallest measured heap in bytes."""
        return self.points[0].heap_bytes

    @property
    def largest_measured(self) -> float:
        """Return the largest measured heap in bytes."""
        return self.points[-1].heap_bytes

    def times_at(self, heap_bytes: float) -> Floats:
        """Return the time of each curve in seconds, shape (CURVES,); infinite if the live data do not fit."""
        return self.asymptote * (1.0 + self.extra * self.shape.reach(heap_bytes))

    def predicted_times(self, heap_bytes: float) -> Floats:
        """Return `times_at` with the model error, unless the heap was measured: the fit then includes it."""
        times = self.times_at(heap_bytes)
        if self._measured(heap_bytes):
            return times
        return times * np.exp(self.model_errors(times) * scrambled_normals(CURVES, _SILVER))

    def _measured(self, heap_bytes: float) -> bool:
        return any(math.isclose(point.heap_bytes, heap_bytes) for point in self.points)

    def model_errors(self, times: Floats) -> Floats:
        """Return the standard deviation of the log of the model error where each curve has these times."""
        errors: Floats = np.hypot(self.model_sd, self.overhead_sd * (1.0 - self.asymptote / times))
        return errors

    def at(self, heap_bytes: float, level: float = 0.95) -> HeapPrediction:
        """Predict the mean run time at a heap.

        Returns:
            The median of the curves and their central interval, with a reason below the minimum heap, where
            the time is NaN; of a collector that was not measured; away from the only measured heap; and at
            the tight end: below 1.5 x minheap without a measurement near, or below the least measured heap if
            the minimum heap is unknown. There the numbers are given, but are those of other programs.

        Raises:
            ValueError: the heap is not above 0, or the level not between 0 and 1.
        """
        check_level(level)
        _check_positive("heap_bytes", heap_bytes)
        reason = self.why_refused(heap_bytes)
        if heap_bytes < self.minheap_bytes * (1 - 1e-9):
            time = undefined(len(self.points), level, POSTERIOR, reason)
        else:
            time = replace(
                self.posterior(self.predicted_times(heap_bytes), level, reason),
                point=_least_relative_error(self.times_at(heap_bytes)),
            )
        return HeapPrediction(heap_bytes, time, self._measured(heap_bytes))

    def posterior(self, values: Floats, level: float, reason: str = "") -> Interval:
        """Return the median and the central interval of one value per curve; values can be infinite."""
        ordered = np.sort(values)
        low, middle, high = (
            float(ordered[min(ordered.size - 1, max(0, round(p * ordered.size - 0.5)))])
            for p in ((1 - level) / 2, 0.5, (1 + level) / 2)
        )
        return Interval(len(self.points), middle, low, high, level, POSTERIOR, reason)

    def why_refused(self, heap_bytes: float) -> str:
        """Return why a heap is outside of what the measurements support; "" if it is not."""
        if heap_bytes < self.minheap_bytes * (1 - 1e-9):
            return "below the minimum heap"
        if not self.points:
            return "predicted, not measured"
        near = any(_NEAR <= heap_bytes / point.heap_bytes <= 1 / _NEAR for point in self.points)
        if len(self.points) == 1 and not near:
            return "only one heap was measured"
        if heap_bytes >= self.least_measured * _NEAR:
            return ""
        if math.isnan(self.minheap_bytes):
            return "below the measured heaps, and the minimum heap is unknown"
        if heap_bytes < TIGHT_FACTOR * self.minheap_bytes:
            return f"below {TIGHT_FACTOR:g} x minheap without a measurement near it"
        return ""

    def heaps_for(self, seconds: ArrayLike) -> Floats:
        """Return the heap at which each curve reaches a time: a number, or one per curve.

        Returns:
            Shape (CURVES,), bytes: the model, with its error, solved for the heap. At least the minimum heap;
            infinite where the time is not above the asymptote.
        """
        wanted = np.maximum(np.asarray(seconds, dtype=float), self.asymptote)
        errors = self.model_errors(wanted) * scrambled_normals(CURVES, _SILVER)
        r = np.asarray(seconds, dtype=float) * np.exp(-errors) / self.asymptote - 1.0
        heaps = np.where(r > 0, self.shape.heaps_for(np.maximum(r, 1e-300) / self.extra), np.inf)
        return np.maximum(heaps, 0.0 if math.isnan(self.minheap_bytes) else self.minheap_bytes)

    def heap_for(self, seconds: ArrayLike, level: float = 0.95) -> Interval:
        """Return the heap in bytes that a run time needs; for the arguments see `heaps_for`."""
        check_level(level)
        found = self.posterior(self.heaps_for(seconds), level)
        return replace(found, reason=self.why_refused(found.point))

    def next_heap(self, answers: ArrayLike) -> NextHeap:
        """Return the heap whose measurement is expected to shrink the interval of an answer most.

        Args:
            answers: shape (CURVES,), the answer of each curve, such as `heaps_for(seconds)`. Infinite ones
                are ignored.

        Returns:
            The heap x, in bytes, with the largest correlation ρ of the answer and a time measured at x with
            the noise of this curve. The standard deviation of the answer is then expected to shrink by 1 -
            √(1 - ρ²). Without finite answers, a larger heap than the measured ones, and NaN.

        Source: preposterior analysis for jointly normal quantities, Raiffa and Schlaifer, "Applied
        Statistical Decision Theory" (1961), chapter 5.
        """
        given = np.asarray(answers, dtype=float)
        if given.shape != self.asymptote.shape:
            raise ValueError(f"answers: expected shape {self.asymptote.shape} · got {given.shape}")
        least = self.least_measured * 0.5 if math.isnan(self.minheap_bytes) else self.minheap_bytes
        candidates = np.geomspace(
            max(least, 1.0), max(_BEYOND * self.largest_measured, 2 * least), _CANDIDATES
        )
        ok = np.isfinite(given) & (given > 0)
        found = NextHeap(float(self.largest_measured), 0.0)
        if ok.sum() < 3:
            return NextHeap(_BEYOND * self.largest_measured, math.nan)
        if np.ptp(given[ok]) == 0:
            return found
        answer = _ranks(given[ok])
        for heap in candidates:
            times = self.times_at(float(heap))[ok]
            if not np.isfinite(times).all():
                continue
            logs = np.log(times)
            variance = float(logs.var())
            if variance == 0:
                continue
            correlation = float(np.corrcoef(answer, _ranks(logs))[0, 1])
            error = self.noise**2 + float(np.square(self.model_errors(self.times_at(float(heap)))[ok]).mean())
            rho2 = min(1.0, correlation**2 * variance / (variance + error))
            shrinks = 1.0 - math.sqrt(1.0 - rho2)
            if shrinks > found.shrinks_by:
                found = NextHeap(float(heap), shrinks)
        return found


def fit_curve(
    points: Sequence[HeapPoint], minheap_bytes: float = math.nan, priors: HeapPriors = HEAP_PRIORS
) -> HeapCurve:
    """Fit the curve of one collector.

    Args:
        points: measurements at one heap or more, in any order; heaps are different.
        minheap_bytes: the smallest heap in which the program completes; NaN if unknown.
        priors: of the live data, the power and the overhead.

    Returns:
        The curve. The mean time at each heap has a standard error from the spread of its invocations, plus a
        model error.

    Raises:
        ValueError: no points, equal heaps, a heap below the minimum heap, or a value that is not in its
            range.

    Source: the likelihood is normal for logarithms of mean times; the asymptote is integrated analytically,
    the other parameters on a grid: Gelman et al., "Bayesian Data Analysis" (3rd edition, 2013), sections 10.3
    and 14.2.
    """
    ordered = checked_points(points, minheap_bytes)
    heaps = np.array([point.heap_bytes for point in ordered])
    shares, powers, prior_cost = _shape_grid(priors, heaps[0], minheap_bytes)
    live = (minheap_bytes if math.isfinite(minheap_bytes) else heaps[0]) * shares
    reach = ((heaps[0] - live)[:, None] / (heaps[None, :] - live[:, None])) ** powers[:, None]
    centre, width = _extra_prior(ordered, priors, live, powers, minheap_bytes)

    def prior(log_extra: Floats, _: Floats) -> Floats:
        cost: Floats = prior_cost[:, None] + np.square((log_extra - centre[:, None]) / width[:, None])
        return cost

    return curve_of_shapes(
        ordered,
        minheap_bytes,
        reach,
        prior,
        lambda shape: PowerShape(float(heaps[0]), live[shape], powers[shape]),
        priors.model_sd,
        priors.overhead_sd,
    )


def curve_of_shapes(
    points: Sequence[HeapPoint],
    minheap_bytes: float,
    reach: Floats,
    prior: Callable[[Floats, Floats], Floats],
    shape_of: Callable[[NDArray[np.int64]], Shape],
    model_sd: float,
    overhead_sd: float = 0.0,
) -> HeapCurve:
    """Fit the asymptote and the overhead of curves with shapes on a grid. For the source see `fit_curve`.

    Args:
        points: as `checked_points` returns them.
        minheap_bytes: NaN if unknown.
        reach: shape (shapes, points), the `Shape.reach` of each shape at each heap.
        prior: log of the overhead and log of the asymptote, each of shape (shapes, n) -> -2 log of the prior
            density.
        shape_of: the shape of each curve, as an index of shape (CURVES,) -> the shape.
        model_sd, overhead_sd: as in `HeapCurve`.
    """
    logs = [np.log(np.asarray(point.seconds, dtype=float)) for point in points]
    # Logarithms of arithmetic means: the answer is a mean time.
    means = np.array([math.log(float(np.mean(point.seconds))) for point in points])
    errors = np.array([_squared_error(values) for values in logs])

    def cost_of(log_extra: Floats) -> tuple[Floats, Floats, Floats]:
        """Return -2 log of the posterior density, and mean and variance of log a: shape (shapes, n)."""
        overhead = np.exp(log_extra)[:, :, None] * reach[:, None, :]
        variances = errors + model_sd**2 + np.square(overhead_sd * overhead / (1.0 + overhead))
        weights = 1.0 / variances
        total = weights.sum(axis=2)
        rest = means - np.log1p(overhead)
        log_a = (rest * weights).sum(axis=2) / total
        cost = (np.square(rest - log_a[:, :, None]) * weights + np.log(variances)).sum(axis=2)
        return cost + np.log(total) + prior(log_extra, log_a), log_a, 1.0 / total

    coarse = np.broadcast_to(
        np.linspace(math.log(_LEAST_EXTRA), math.log(_MOST_EXTRA), _COARSE), (reach.shape[0], _COARSE)
    )
    # A second and a third grid resolve narrow peaks, which precise measurements give.
    fine = _narrowed(coarse, cost_of(coarse)[0])
    fine = _narrowed(fine, cost_of(fine)[0])
    cost, log_a, variance = cost_of(fine)
    spacing = fine[:, 1] - fine[:, 0]
    weight = np.exp(-(cost - cost.min()) / 2) * spacing[:, None]
    chosen = _resampled(weight.ravel())
    normal = scrambled_normals(CURVES) * np.sqrt(variance.ravel()[chosen])
    return HeapCurve(
        tuple(points),
        float(minheap_bytes),
        np.exp(log_a.ravel()[chosen] + normal),
        np.exp(fine.ravel()[chosen]),
        shape_of(chosen // fine.shape[1]),
        math.sqrt(float(np.median(errors))),
        model_sd,
        overhead_sd,
    )


# Checks


def checked_points(points: Sequence[HeapPoint], minheap_bytes: float) -> list[HeapPoint]:
    """Return points ascending by heap; ValueError as in `fit_curve`."""
    if not points:
        raise ValueError("points: expected measurements at one heap or more · got none")
    for point in points:
        _check_positive("heap_bytes", point.heap_bytes)
        times = np.asarray(point.seconds, dtype=float)
        if times.ndim != 1 or times.size == 0 or not (np.isfinite(times).all() and (times > 0).all()):
            raise ValueError("seconds: expected one positive time per invocation or more")
        if not (math.isnan(point.pause_share) or 0 <= point.pause_share < 1):
            raise ValueError(f"pause_share: expected at least 0 and below 1 · got {point.pause_share:g}")
    if not math.isnan(minheap_bytes):
        _check_positive("minheap_bytes", minheap_bytes)
    ordered = sorted(points, key=lambda point: point.heap_bytes)
    heaps = [point.heap_bytes for point in ordered]
    if len(set(heaps)) < len(heaps):
        raise ValueError("points: expected different heaps · got one heap twice")
    if heaps[0] < minheap_bytes * (1 - 1e-9):
        raise ValueError(
            f"minheap_bytes: expected at most {heaps[0]:g}, a measured heap · got {minheap_bytes:g}"
        )
    return ordered


def _check_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name}: expected a positive number · got {value:g}")


# Distributions


def _squared_error(logs: Floats) -> float:
    """Return the squared standard error of the mean of logarithms, with the prior of their variance."""
    squares = float(np.square(logs - logs.mean()).sum())
    return (squares + _PRIOR_DF * _PRIOR_SD**2) / (logs.size - 1 + _PRIOR_DF) / logs.size


def _shape_grid(priors: HeapPriors, least_heap: float, minheap_bytes: float) -> tuple[Floats, Floats, Floats]:
    """Return shares of live data, powers, and -2 log of their prior density; each of shape (shapes,)."""
    known = math.isfinite(minheap_bytes)
    centre, width = (priors.live_share, priors.live_sd) if known else (0.5 * priors.live_share, 0.3)
    # At the least measured heap, the live data must leave room; that heap can be the minimum heap itself.
    shares = np.linspace(0.02, 0.98, 25)
    powers = np.linspace(0.6, 3.4, 15)
    grid_shares, grid_powers = (grid.ravel() for grid in np.meshgrid(shares, powers, indexing="ij"))
    cost = ((grid_shares - centre) / width) ** 2 + ((grid_powers - priors.power) / priors.power_sd) ** 2
    return grid_shares, grid_powers, cost


def _extra_prior(
    points: Sequence[HeapPoint], priors: HeapPriors, live: Floats, powers: Floats, minheap_bytes: float
) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of log e at the least measured heap, per shape.

    If a log gives the share of pauses at a heap, the overhead there is probably near pauses / rest.
    """
    h0 = points[0].heap_bytes
    known = [(point.heap_bytes, point.pause_share) for point in points if point.pause_share > 0]
    if known:
        heap, share = known[0]
        at, centre, width = heap, math.log(share / (1 - share)) + priors.pause_log_ratio, priors.pause_log_sd
    else:
        at = 2 * minheap_bytes if math.isfinite(minheap_bytes) else h0
        centre, width = priors.extra_log_at_2x, priors.extra_log_sd
    return centre + powers * np.log((at - live) / (h0 - live)), np.full(live.size, width)


def _narrowed(grid: Floats, cost: Floats) -> Floats:
    """Return a grid per row around the values with weight."""
    near = cost <= cost.min(axis=1, keepdims=True) + _FAR
    first = np.maximum(near.argmax(axis=1) - 1, 0)
    last = np.minimum(grid.shape[1] - 1 - near[:, ::-1].argmax(axis=1) + 1, grid.shape[1] - 1)
    rows = np.arange(grid.shape[0])
    start, end = grid[rows, first], grid[rows, last]
    grids: Floats = start[:, None] + (end - start)[:, None] * np.linspace(0, 1, _FINE)[None, :]
    return grids


def _resampled(weight: Floats) -> NDArray[np.int64]:
    """Return CURVES indices with frequencies proportional to their weights, in a fixed scrambled order.

    Source: systematic resampling, Douc and Cappé, "Comparison of resampling schemes for particle filtering"
    (2005).
    """
    total = np.cumsum(weight)
    positions = (np.arange(CURVES) + 0.5) / CURVES * total[-1]
    found: NDArray[np.int64] = np.searchsorted(total, positions).astype(np.int64)
    return found


@cache
def scrambled_normals(n: int, step: float = _GOLDEN) -> Floats:
    """Return n standard normal values, equally likely, independent of their index and of other steps.

    Source: additive recurrence with an irrational step, Niederreiter, "Random Number Generation and
    Quasi-Monte Carlo Methods" (1992), chapter 3.
    """
    normal = NormalDist()
    return np.array([normal.inv_cdf(((k + 0.5) * step) % 1.0) for k in range(n)])


def _least_relative_error(times: Floats) -> float:
    """Return the prediction p with the least expected |p - t| / t: the median with weights 1 / t.

    It is the median where the curves agree. At the tight end it is below it, because an excess has no bound
    but a shortfall is at most 100 %.

    Source: Gneiting, "Making and evaluating point forecasts", JASA 106 (2011), section 1.2: the (-1)-median.
    """
    ordered = np.sort(times)
    total = np.cumsum(1.0 / ordered)
    return float(ordered[np.searchsorted(total, total[-1] / 2)])


def _ranks(values: Floats) -> NDArray[np.int64]:
    return values.argsort(kind="stable").argsort()
