"""Prevalent ways to report performance: best, second best, worst, mean, median of a few runs, and what their claims are worth.

Source: Georges, Buytaert, Eeckhout, Statistically Rigorous Java Performance Evaluation, OOPSLA 2007, sections 2.1.1 and 6.2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from regatta.stats.estimate import Floats

#: of the invocations' numbers, each invocation giving one
STATISTICS = ("best", "second best", "worst", "mean", "median")
#: of a table of iterations, x invocations by y iterations
STEADY_STATISTICS = ("best of median", "best", "second best")

#: table 4's classes, row by row: intervals overlap; they do not, and the order is the same; and it is not
CLASSES = (
    "indicative",
    "misleading",
    "misleading but correct",
    "correct",
    "misleading and incorrect",
    "incorrect",
)
INDICATIVE, MISLEADING, MISLEADING_BUT_CORRECT, CORRECT, MISLEADING_AND_INCORRECT, INCORRECT = range(6)


def prevalent(values: Floats, statistic: str, lower_is_better: bool = True) -> Floats:
    """One reported number of each set of runs.

    Args:
        values: shape (..., k), k >= 1 runs each; the second best of one run is that run.
        statistic: one of `STATISTICS`.
        lower_is_better: whether the best is the least.

    Returns:
        Shape (...), in the unit of the values; NaN where one of the runs is NaN.

    Raises:
        ValueError: no such statistic, or no runs.
    """
    if values.shape[-1] == 0:
        raise ValueError("expected at least one run")
    if statistic == "mean":
        return np.asarray(values.mean(axis=-1))
    if statistic == "median":
        return np.asarray(np.median(values, axis=-1))
    if statistic not in STATISTICS:
        raise ValueError(f"expected one of {', '.join(STATISTICS)} · got {statistic}")
    if statistic == "second best" and values.shape[-1] > 1:
        at = 1 if lower_is_better else values.shape[-1] - 2
        second = np.partition(values, at, axis=-1)[..., at]
        return np.where(np.isnan(values).any(axis=-1), math.nan, second)
    least = lower_is_better == (statistic != "worst")
    return np.asarray(values.min(axis=-1) if least else values.max(axis=-1))


def prevalent_steady(iterations: Floats, statistic: str, lower_is_better: bool = True) -> Floats:
    """One reported number of each table of iterations.

    Args:
        iterations: shape (..., x, y): x invocations of y iterations each, both at least 1.
        statistic: one of `STEADY_STATISTICS`. `best of median`: the median of each iteration across the invocations, and
            of these medians the best; `best` and `second best` are over all x · y iterations.
        lower_is_better: whether the best is the least.

    Returns:
        Shape (...), in the unit of the iterations.

    Raises:
        ValueError: no such statistic.

    Source: Georges et al., section 6.2.2.
    """
    if statistic == "best of median":
        return prevalent(np.median(iterations, axis=-2), "best", lower_is_better)
    if statistic not in STEADY_STATISTICS:
        raise ValueError(f"expected one of {', '.join(STEADY_STATISTICS)} · got {statistic}")
    flat = iterations.reshape(*iterations.shape[:-2], -1)
    return prevalent(flat, statistic, lower_is_better)


def relative_difference(a: Floats, b: Floats) -> Floats:
    """How far a lies above (+) or below (-) b, relative to the smaller of the two: 0.03 is 3 %.

    Args:
        a: positive, any shape.
        b: positive, of a shape that goes with that of `a`.

    Returns:
        max/min - 1 with the sign of a - b; the same size whichever of the two is named first. NaN where one is not positive.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.maximum(a, b) / np.minimum(a, b) - 1.0
    return np.where((a > 0.0) & (b > 0.0), np.copysign(size, a - b), math.nan)


def class_shares(verdicts: NDArray[np.int_], differences: Floats, thetas: Floats) -> Floats:
    """How often each comparison falls into each class of table 4, at many thresholds at once.

    Two prevalent numbers that are equal claim nothing at any threshold, and have no order that could be the right one.

    Args:
        verdicts: shape (p,): of the rigorous method on a - b: -1 or +1 where the interval leaves out no difference, 0 where it
            does not.
        differences: shape (p, d): the prevalent method's difference, signed as `relative_difference` gives it, in each of d
            draws of the runs; NaN draws do not count.
        thetas: shape (t,), ascending, >= 0, fractions (0.01 is 1 %): a difference below one is small and none is claimed.

    Returns:
        Shape (p, t, 6): fractions of the draws in the order of `CLASSES`, which sum to 1; NaN where no draw counts.
    """
    pairs, levels = len(verdicts), len(thetas) + 1
    verdict = np.asarray(verdicts)[:, None]
    size = np.where(differences == 0.0, -1.0, np.abs(differences))
    # As many thresholds as the difference reaches; those it does not reach call it small.
    reached = np.searchsorted(thetas, size, side="right")
    row = np.where(verdict == 0, 0, np.where(np.sign(differences) == verdict, 1, 2))
    place = (np.arange(pairs)[:, None] * 3 + row) * levels + reached
    counted = ~np.isnan(differences)
    many = np.bincount(place[counted], minlength=pairs * 3 * levels).reshape(pairs, 3, levels)
    small = many.cumsum(axis=2)[:, :, :-1]
    shares = np.stack([small, many.sum(axis=2, keepdims=True) - small], axis=3).transpose(0, 2, 1, 3)
    with np.errstate(invalid="ignore"):
        found: Floats = shares.reshape(pairs, len(thetas), 6) / counted.sum(axis=1)[:, None, None]
    return found
