"""Prevalent ways to report performance (best, second best, worst, mean, median of a few runs), and how reliable they are.

Source: Georges, Buytaert, Eeckhout, Statistically Rigorous Java Performance Evaluation, OOPSLA 2007, sections 2.1.1 and 6.2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from regatta.stats.estimate import Floats

#: Statistics over invocations, each with one value.
STATISTICS = ("best", "second best", "worst", "mean", "median")
#: Statistics over a table of iterations, x invocations by y iterations.
STEADY_STATISTICS = ("best of median", "best", "second best")

#: Classes of table 4, row by row: overlapping intervals; disjoint intervals with the same order; with the opposite order.
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
    """Return the reported number of each set of runs.

    Args:
        values: shape (..., k), k >= 1 runs each; the second best of one run is that run.
        statistic: one of `STATISTICS`.
        lower_is_better: whether the smallest value is the best.

    Returns:
        Shape (...), in the unit of the values; NaN if one of the runs is NaN.

    Raises:
        ValueError: unknown statistic, or no runs.
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
    """Return the reported number of each table of iterations.

    Args:
        iterations: shape (..., x, y): x invocations of y iterations each, both at least 1.
        statistic: one of `STEADY_STATISTICS`. `best of median`: the best of the medians of each iteration across the
            invocations; `best` and `second best` are over all x · y iterations.
        lower_is_better: whether the smallest value is the best.

    Returns:
        Shape (...), in the unit of the iterations.

    Raises:
        ValueError: unknown statistic.

    Source: Georges et al., section 6.2.2.
    """
    if statistic == "best of median":
        return prevalent(np.median(iterations, axis=-2), "best", lower_is_better)
    if statistic not in STEADY_STATISTICS:
        raise ValueError(f"expected one of {', '.join(STEADY_STATISTICS)} · got {statistic}")
    flat = iterations.reshape(*iterations.shape[:-2], -1)
    return prevalent(flat, statistic, lower_is_better)


def relative_difference(a: Floats, b: Floats) -> Floats:
    """Return how far a is above (+) or below (-) b, relative to the smaller of the two: 0.03 is 3 %.

    Args:
        a: positive, any shape.
        b: positive, of a shape that broadcasts with that of `a`.

    Returns:
        max/min - 1 with the sign of a - b; swapping a and b only changes the sign. NaN if one is not positive.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.maximum(a, b) / np.minimum(a, b) - 1.0
    return np.where((a > 0.0) & (b > 0.0), np.copysign(size, a - b), math.nan)


def class_shares(verdicts: NDArray[np.int_], differences: Floats, thetas: Floats) -> Floats:
    """Return how often each comparison falls into each class of table 4, at many thresholds at once.

    Two equal prevalent numbers make no claim at any threshold and have no order.

    Args:
        verdicts: shape (p,): of the rigorous method on a - b: -1 or +1 if the interval excludes 0, else 0.
        differences: shape (p, d): the difference of the prevalent method, as from `relative_difference`, in each of d draws of
            the runs; NaN draws do not count.
        thetas: shape (t,), ascending, >= 0, fractions (0.01 is 1 %): a difference below the threshold is small and makes no
            claim.

    Returns:
        Shape (p, t, 6): fractions of the draws in the order of `CLASSES`, which sum to 1; NaN if no draw counts.
    """
    pairs, levels = len(verdicts), len(thetas) + 1
    verdict = np.asarray(verdicts)[:, None]
    size = np.where(differences == 0.0, -1.0, np.abs(differences))
    # The number of thresholds that the difference reaches; at the others it is small.
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
