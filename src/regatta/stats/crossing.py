"""Where a noisy curve that grows with the load crosses a target, from several rounds that each measure every load."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.estimate import Floats, Interval, check_level, only_rounding, undefined
from regatta.stats.intervals import t_quantile

METHOD = "Fieller on a local curve"
#: A window of loads must show the crossing with a quantile larger by this factor. Otherwise, windows in which the spread is
#: small by chance would be chosen, and their intervals would be too narrow. Chosen by `perf/accuracy/capacity.py`.
_CLEAR = 1.3
#: a load with fewer values than this share of the rounds ends the curve
_LEAST_SHARE = 0.5
#: loads of the curve with a quadratic term, if there are as many
_CURVED_LOADS = 4
#: an imaginary part, relative to the window, that is rounding
_REAL = 1e-7


@dataclass(frozen=True)
class Crossing:
    """A crossing with its interval; without an interval, what is known of it.

    `estimate`: in the unit of the loads. `low`: the highest measured load at which, as at all lower ones, the curve is
    significantly below the target. `high`: the lowest measured load at which, as at all higher ones, it is significantly above,
    or at which invocations fail. Each is one-sided at (1 + level) / 2, and None if there is no such load.
    """

    estimate: Interval
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class _Fit:
    """A curve through a window of loads: its crossing, and the limits of Fieller's set around it; NaN if outside."""

    point: float
    low: float = math.nan
    high: float = math.nan

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)


def crossing(loads: ArrayLike, values: ArrayLike, target: float, level: float = 0.95) -> Crossing:
    """Return the load at which the geometric mean over rounds of a growing quantity equals the target.

    Args:
        loads: shape (k,), ascending, k >= 1.
        values: shape (n, k), one row per round; NaN: failed, or without a value.
        target: > 0, in the unit of the values.
        level: confidence, between 0 and 1.

    Returns:
        The curve ends below the first load with values in at most half of the rounds. Before it, a missing value counts as the
        larger of the target and the largest value at that load. The curve is fitted to logarithms, or to the values if one
        is not positive (then the crossing is that of the arithmetic mean).

        Isotonic regression of the means finds the two loads around the crossing. A window of loads around them grows until a
        line through it crosses the target clearly inside. The point is that of a parabola through this window (through at least
        four loads, if there are). The interval is Fieller's: all loads x at which a t test with n - 1 degrees of freedom does
        not reject that the fitted value at x, one per round, equals the target. It is wider on both sides by the distance
        between the crossings of the parabola and of the line, which is about the error of either. So what the loads of a round
        have in common is in the interval, whatever its correlation.

        The interval is undefined, with a reason, if it would extend beyond the measured loads, or if the parabola falls between
        the two loads around the crossing. Then the result has bounds.

    Raises:
        ValueError: shapes do not fit, loads do not ascend, or the target is not positive.

    Source: Fieller, "Some problems in interval estimation", JRSS B 16 (1954), and Zerbe, The American Statistician 32 (1978),
    for a crossing of a linear combination of means; Barlow et al., "Statistical Inference under Order Restrictions" (1972), for
    isotonic regression; Maurer, Hothorn and Lehmacher (1995) for tests in a fixed sequence, which need no adjustment.
    """
    check_level(level)
    x, y = np.asarray(loads, float), np.asarray(values, float)
    if x.ndim != 1 or not x.size or y.ndim != 2 or y.shape[1] != x.size or not (np.diff(x) > 0).all():
        raise ValueError("expected ascending loads, and one row of values per round")
    if not target > 0.0:
        raise ValueError(f"target: expected a number above 0 · got {target}")
    n = len(y)
    if not n:
        return Crossing(undefined(0, level, METHOD, "no rounds"))
    missing = ~np.isfinite(y)
    ended = np.flatnonzero(missing.mean(axis=0) >= _LEAST_SHARE)
    usable = int(ended[0]) if ended.size else x.size
    failing = float(x[usable]) if ended.size else None
    if not usable:
        reason = "no value at the lowest load in at least half of the rounds"
        return Crossing(undefined(n, level, METHOD, reason), None, failing)
    return _of_curve(x[:usable], _relative(y[:, :usable], missing[:, :usable], target), level, failing)


def _relative(values: Floats, missing: Floats, target: float) -> Floats:
    """Return the values relative to the target, 0 if equal: on a log scale if all are positive."""
    worst = np.maximum(np.where(missing, -math.inf, values).max(axis=0), target)
    filled = np.where(missing, worst, values)
    relative: Floats = np.log(filled / target) if (filled > 0.0).all() else filled / target - 1.0
    return relative


def _of_curve(x: Floats, y: Floats, level: float, failing: float | None) -> Crossing:
    # Its import takes longer than most answers.
    from scipy.optimize import isotonic_regression

    n, k = y.shape
    means = y.mean(axis=0)
    met = int(np.count_nonzero(isotonic_regression(means).x <= 0.0))
    low, high = _bounds(x, y, level)
    high = failing if high is None else high
    if 0 < met < k:
        found = _interval(x, y, met, level)
        if found is not None:
            return Crossing(found)
        reason = "these loads and rounds do not show the crossing clearly"
    elif not met:
        reason = "the mean over rounds does not meet the target at the lowest load"
    elif failing is None:
        reason = "the mean over rounds meets the target at every load"
    else:
        reason = "the mean over rounds meets the target at every load below one that fails in at least half of the rounds"
    return Crossing(undefined(n, level, METHOD, reason), low, high)


def _bounds(x: Floats, y: Floats, level: float) -> tuple[float | None, float | None]:
    """Return the last load of those that are clearly below the target from the lowest on, and the first clearly above."""
    n = len(y)
    means = y.mean(axis=0)
    half = t_quantile(n - 1, level) * y.std(axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.zeros(x.size)
    met = np.minimum.accumulate(means + half <= 0.0)
    missed = np.minimum.accumulate((means - half > 0.0)[::-1])[::-1]
    return (float(x[met][-1]) if met.any() else None, float(x[missed][0]) if missed.any() else None)


def _interval(x: Floats, y: Floats, met: int, level: float) -> Interval | None:
    """Return the crossing between the loads `met - 1` and `met`; None without a clear one."""
    n, k = y.shape
    t = t_quantile(n - 1, level) if n > 1 else 0.0
    around = float(x[met - 1]), float(x[met])
    constant = n == 1 or only_rounding(float(np.ptp(y, axis=0).max()), max(1.0, float(np.abs(y).max())))
    for width in range(1, k):
        window = slice(max(0, met - width), min(k, met + width))
        line = _fit(x[window], y[:, window], 1, _CLEAR * t, around)
        if line is not None and (line.bounded or constant):
            break
    else:
        return None
    if window.stop - window.start < min(k, _CURVED_LOADS):
        window = slice(max(0, met - width - 1), min(k, met + width + 1))
    degree = min(2, window.stop - window.start - 1)
    curve = _fit(x[window], y[:, window], degree, _CLEAR * t, around)
    if constant and curve is not None:
        reason = (
            "one round has no variance" if n == 1 else f"all {n} rounds are equal, so the variance is unknown"
        )
        return undefined(n, level, METHOD, reason, curve.point)
    if curve is None or not curve.bounded:
        return None
    curve = _fit(x[window], y[:, window], degree, t, around)
    if curve is None or not curve.bounded:
        return None
    error = abs(curve.point - line.point)
    low, high = curve.low - error, curve.high + error
    if low < x[0] or high > x[-1]:
        return None
    return Interval(n, curve.point, low, high, level, METHOD)


def _fit(x: Floats, y: Floats, degree: int, t: float, around: tuple[float, float]) -> _Fit | None:
    """Return the crossing of a polynomial through a window, upward; None if there is none, or if it falls at a load `around`.

    The set of Fieller: mean(f)² <= t² var(f) / n, where f(x) is the polynomial of a round. Its ends are roots of a polynomial.
    """
    n = len(y)
    center, half = float(x[0] + x[-1]) / 2, float(x[-1] - x[0]) / 2
    design = np.vander((x - center) / half, degree + 1, increasing=True)
    rounds = y @ np.linalg.pinv(design).T
    mean = rounds.mean(axis=0)
    slope = np.arange(1, degree + 1) * mean[1:]
    upward = [root for root in _roots(mean) if np.polyval(slope[::-1], root) > 0.0]
    if not upward or any(np.polyval(slope[::-1], (load - center) / half) < 0.0 for load in around):
        return None
    # A line or a parabola rises through 0 at most once.
    (point,) = upward
    if t == 0.0 or n < 2:
        return _Fit(center + half * point)
    rest = rounds - mean
    gap = np.outer(mean, mean) - t * t * (rest.T @ rest) / (n - 1) / n
    flipped = gap[::-1]
    ends = _roots(np.array([np.trace(flipped, at) for at in range(-degree, degree + 1)]))
    low = max((end for end in ends if end <= point), default=math.nan)
    high = min((end for end in ends if end >= point), default=math.nan)
    return _Fit(center + half * point, center + half * low, center + half * high)


def _roots(coefficients: Floats) -> list[float]:
    """Return the real roots from -1 to 1 of a polynomial with ascending coefficients."""
    found = np.roots(coefficients[::-1])
    real = found.real[np.abs(found.imag) <= _REAL]
    return [float(root) for root in real if -1.0 <= root <= 1.0]
