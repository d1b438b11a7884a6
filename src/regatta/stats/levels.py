"""Variance at every level of a nested experiment: iterations in invocations in builds or hosts, after Kalibera and Jones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.estimate import NAN, Floats, Interval, check_level, only_rounding, undefined
from regatta.stats.intervals import t_quantile

FIELLER = "fieller"


@dataclass(frozen=True)
class VarianceLevels:
    """Variance by level, the lowest (iterations) first.

    `counts`: r_1 ... r_k, repetitions at each level inside the one above. `s_squared`: biased estimates S_i², unit of the values
    squared. `t_squared`: unbiased T_i²; one below zero says that the level adds no variance that could be seen, and is
    clipped only where it is shown. NaN where there is nothing to estimate from, and `reason` says why.
    """

    counts: tuple[int, ...]
    s_squared: tuple[float, ...]
    t_squared: tuple[float, ...]
    reason: str = ""


@dataclass(frozen=True)
class Repetitions:
    """How often a level is best repeated inside the one above: `count` >= 1, infinite, or NaN, and `reason` why not finite."""

    count: float
    reason: str = ""


def variance_levels(values: ArrayLike) -> VarianceLevels:
    """Split the variance of a balanced nested experiment among its levels.

    Args:
        values: shape (r_k, ..., r_2, r_1), any unit: the highest level (such as builds) first, iterations last.

    Returns:
        S_i²: the variance of the means at level i inside the level above, averaged over it. T_1² = S_1²,
        T_i² = S_i² - S_(i-1)²/r_(i-1). NaN with a reason for a level with one repetition (and for the T² of the one above).

    Raises:
        ValueError: `values` has no dimension.

    Source: Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim == 0:
        raise ValueError("levels: expected at least one dimension · got a single number")
    counts = x.shape[::-1]
    nothing = (NAN,) * x.ndim
    if x.size == 0:
        return VarianceLevels(counts, nothing, nothing, "no values")
    if not np.isfinite(x).all():
        return VarianceLevels(counts, nothing, nothing, "a value is not a finite number")
    if x.size > 1 and only_rounding(float(np.ptp(x / 2)) * 2, float(np.abs(x).max())):
        return VarianceLevels(
            counts, nothing, nothing, f"all {x.size} values are equal, so their spread is unknown"
        )
    # From the grand mean, so that leading digits in common do not matter, and scaled so that no square overflows.
    exponent = math.frexp(float(np.abs(x).max()))[1]
    means = np.ldexp(x, -exponent)
    means = means - means.mean()
    s_squared: list[float] = []
    for count in counts:
        s_squared.append(float(means.var(axis=-1, ddof=1).mean()) if count > 1 else NAN)
        means = means.mean(axis=-1)
    return levels_of(counts, _squares(s_squared, exponent))


def levels_of(counts: Sequence[int], s_squared: Sequence[float]) -> VarianceLevels:
    """The unbiased variances, where the biased ones are already known (reduced out of core).

    Args:
        counts: r_1 ... r_k, >= 1, lowest level first.
        s_squared: S_1² ... S_k², >= 0, unit of the values squared; NaN for a level with one repetition.

    Returns:
        As `variance_levels`.

    Raises:
        ValueError: there are not as many variances as counts, or none.
    """
    if not counts or len(counts) != len(s_squared):
        raise ValueError(f"levels: expected a variance a level · got {len(counts)} and {len(s_squared)}")
    t_squared = [s_squared[0]]
    t_squared += [
        s - below / count for s, below, count in zip(s_squared[1:], s_squared, counts, strict=False)
    ]
    alone = [str(level) for level, count in enumerate(counts, 1) if count == 1]
    reason = f"one repetition at level {' and '.join(alone)} has no spread" if alone else ""
    return VarianceLevels(tuple(counts), tuple(s_squared), tuple(t_squared), reason)


def optimal_repetitions(levels: VarianceLevels, costs: Sequence[float]) -> tuple[Repetitions, ...]:
    """How often to repeat each level but the highest, so that a given time gives the narrowest interval.

    Args:
        levels: from a pilot experiment of k levels.
        costs: shape (k,), > 0, lowest level first: c_1 of an iteration, c_2 of starting an invocation (with its warm-up), ...;
            any unit, the same for all.

    Returns:
        k - 1 numbers, lowest level first: r_i = ⌈√(c_(i+1)/c_i · T_i²/T_(i+1)²)⌉. 1 where the level adds no variance;
        infinite where only the level above adds none, so that one of those is enough; NaN where a T² is not known.
        The highest level is repeated until the interval is narrow enough.

    Raises:
        ValueError: as many costs as levels are needed, all positive.

    Source: Kalibera and Jones (ISMM 2013).
    """
    if len(costs) != len(levels.counts) or not all(cost > 0 and math.isfinite(cost) for cost in costs):
        raise ValueError(f"costs: expected {len(levels.counts)} positive numbers · got {list(costs)}")
    found = []
    for i, (low, high) in enumerate(zip(levels.t_squared, levels.t_squared[1:], strict=False)):
        if math.isnan(low) or math.isnan(high):
            found.append(Repetitions(NAN, levels.reason))
        elif low <= 0.0:
            found.append(Repetitions(1.0))
        elif high <= 0.0:
            found.append(Repetitions(math.inf, f"level {i + 2} adds no variance that could be seen"))
        else:
            found.append(Repetitions(float(math.ceil(math.sqrt(costs[i + 1] / costs[i] * low / high)))))
    return tuple(found)


def fieller_ratio(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> Interval:
    """Ratio of the means of two independent nested experiments, with Fieller's interval.

    Args:
        x: shape (r_k, ..., r_1), the alternative; its mean over all but the highest level is what counts. A list of values will do.
        y: the baseline, same unit, counts of its own.
        level: confidence, between 0 and 1.

    Returns:
        mean x / mean y with the edges of (x y ± √((x y)² - (x² - h_x²)(y² - h_y²))) / (y² - h_y²), x and y the means and h
        the half-widths of their own t intervals (r - 1 degrees of freedom each). `n` counts the means of both sides.
        The point alone where a side has no spread to judge by, or where the baseline's own interval holds 0: then no
        bounded interval exists.

    Raises:
        ValueError: a side has no dimension, or `level` is not between 0 and 1.

    Source: Fieller, Journal of the Royal Statistical Society B 16 (1954); Kalibera and Jones, "Quantifying Performance
    Changes with Effect Size Confidence Intervals", University of Kent technical report 4-12 (2012).
    """
    check_level(level)
    tops = _top_means(x), _top_means(y)
    n = sum(int(top.size) for top in tops)
    if not all(top.size for top in tops):
        return undefined(n, level, FIELLER, "a side has no values")
    if not all(np.isfinite(top).all() for top in tops):
        return undefined(n, level, FIELLER, "a value is not a finite number")
    # Both sides in one unit of a power of two, which is exact, so that no square overflows.
    exponent = math.frexp(max(float(np.abs(top).max()) for top in tops))[1]
    (mean_x, half_x), (mean_y, half_y) = (_mean_and_half(np.ldexp(top, -exponent), level) for top in tops)
    if mean_y == 0.0:
        return undefined(n, level, FIELLER, "the baseline's mean is 0")
    point = mean_x / mean_y
    if math.isnan(half_x) or math.isnan(half_y):
        return undefined(n, level, FIELLER, "a side has one value and so no spread", point)
    if half_x == 0.0 and half_y == 0.0:
        reason = "all values of each side are equal, so their spread is unknown"
        return undefined(n, level, FIELLER, reason, point)
    if abs(mean_y) <= half_y:
        reason = "the baseline's mean cannot be told from 0, so the ratio has no bounds"
        return undefined(n, level, FIELLER, reason, point)
    # Divided by mean y, g = (half_y/mean_y)²: the textbook's form, with nothing that vanishes.
    g, spread = (half_y / mean_y) ** 2, half_x / mean_y
    reach = math.sqrt(spread**2 * (1.0 - g) + point**2 * g)
    return Interval(n, point, (point - reach) / (1.0 - g), (point + reach) / (1.0 - g), level, FIELLER)


def _top_means(values: ArrayLike) -> Floats:
    """Means of the highest level, shape (r_k,)."""
    x = np.asarray(values, dtype=np.float64)
    if x.ndim == 0:
        raise ValueError("levels: expected at least one dimension · got a single number")
    if x.ndim == 1 or x.size == 0:
        return x.ravel()
    below = int(np.prod(x.shape[1:]))
    means: Floats = (x.reshape(x.shape[0], below) / below).sum(axis=1)
    return means


def _mean_and_half(x: Floats, level: float) -> tuple[float, float]:
    """Mean and half-width of the t interval: NaN for one value, 0 for spread that is only rounding."""
    first = float(x[0])
    mean = first + float((x - first).mean())
    if x.size == 1:
        return mean, NAN
    if only_rounding(float(np.ptp(x)), float(np.abs(x).max())):
        return mean, 0.0
    return mean, t_quantile(x.size - 1, level) * math.sqrt(float(x.var(ddof=1)) / x.size)


def _squares(values: Sequence[float], exponent: int) -> tuple[float, ...]:
    """What was estimated in units of 2^exponent."""
    return tuple(float(np.ldexp(value, 2 * exponent)) for value in values)
