"""The difference of two alternatives in the unit of the values: independent, or paired by block."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.estimate import NAN, Contrast, Floats, Interval, check_level, only_rounding, undefined
from regatta.stats.intervals import GEORGES_2007, LARGE, t_quantile, t_two_sided_p
from regatta.stats.moments import ldexp, mean_and_variance, vector

PAIRED_DIFFERENCE = "paired-t"
WELCH_DIFFERENCE = "welch"


def welch_difference(
    a: ArrayLike, b: ArrayLike, level: float = 0.95, method: str = WELCH_DIFFERENCE
) -> Contrast:
    """Return the difference of the means of two independent samples, by Welch's t.

    Args:
        a: shape (m,): the alternative.
        b: shape (n,): the baseline, same unit.
        level: confidence, between 0 and 1.
        method: `welch`, or `georges2007` for the method of the paper: degrees of freedom rounded to the nearest integer, and
            the normal distribution (`df` infinite) if both sides have at least 30 values.

    Returns:
        mean a - mean b ± t(1 - α/2; ν) · √(s_a²/m + s_b²/n), ν after Welch and Satterthwaite, with `df` = ν and the p value of
        "the means are equal". `n` counts the values of both sides. Requires two values on each side, and spread on one.

    Raises:
        ValueError: `method` is unknown, or `level` is not between 0 and 1.

    Source: Welch, Biometrika 34 (1947); Satterthwaite, Biometrics Bulletin 2 (1946); Georges et al. (OOPSLA 2007), section 3.3.
    """
    check_level(level)
    if method not in (WELCH_DIFFERENCE, GEORGES_2007):
        raise ValueError(f"method: expected {WELCH_DIFFERENCE} or {GEORGES_2007} · got {method}")
    x, y = vector(a), vector(b)
    if not _finite(x, y):
        return _not_finite(int(x.size + y.size), level, method)
    paper = method == GEORGES_2007
    return welch_t(x, y, level, method, least=0.0, paper=paper, large=LARGE if paper else 0)


def paired_difference(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Contrast:
    """Return the mean difference a - b of pairs measured close together.

    Args:
        a: shape (n,): the alternative, one value per block.
        b: shape (n,): the baseline in the same blocks, same unit.
        level: confidence, between 0 and 1.

    Returns:
        mean d ± t(1 - α/2; n - 1) · s_d/√n with d = a - b, and the p value of "the mean difference is 0". `n` counts pairs. One
        pair, or pairs with equal differences, give only the point.

    Raises:
        ValueError: the shapes differ, or `level` is not between 0 and 1.

    Source: Student's paired t test; reason for blocks: Box, Hunter and Hunter, "Statistics for Experimenters", chapter 3.
    """
    check_level(level)
    x, y = vector(a), vector(b)
    if x.shape != y.shape:
        raise ValueError(f"pairs: expected as many values on both sides · got {x.size} and {y.size}")
    if not _finite(x, y):
        return _not_finite(int(x.size), level, PAIRED_DIFFERENCE)
    n = int(x.size)
    if n == 0:
        return Contrast(undefined(0, level, PAIRED_DIFFERENCE, "no pairs"), NAN)
    largest = max(float(np.abs(x).max()), float(np.abs(y).max()))
    exponent = math.frexp(largest)[1]
    d = np.ldexp(x, -exponent) - np.ldexp(y, -exponent)
    if n == 1:
        return _point_alone(1, float(d[0]), exponent, level, PAIRED_DIFFERENCE, "one pair has no variance")
    mean, variance = mean_and_variance(d)
    if only_rounding(float(d.max() - d.min()), 1.0):
        reason = f"all {n} differences are equal, so the variance is unknown"
        return _point_alone(n, mean, exponent, level, PAIRED_DIFFERENCE, reason)
    return _contrast(mean, math.sqrt(variance / n), n - 1, exponent, n, level, PAIRED_DIFFERENCE)


def welch_t(
    x: Floats, y: Floats, level: float, method: str, least: float, paper: bool = False, large: int = 0
) -> Contrast:
    """Return the mean of x minus the mean of y, for independent samples with different spreads.

    Args:
        x, y: shapes (m,) and (n,), finite.
        level: confidence, between 0 and 1.
        method: name stored in the result.
        least: minimum magnitude for judging rounding, if the largest value is smaller (1 for logs, which round like 1).
        paper: whether to round degrees of freedom to the nearest integer.
        large: use the normal distribution if both sides have at least this number of values; 0: never.

    Returns:
        difference ± t(1 - α/2; ν) · √(s_x²/m + s_y²/n), ν after Welch and Satterthwaite; only the point if a side has one value
        or neither has any spread.
    """
    n = int(x.size + y.size)
    if not x.size or not y.size:
        return Contrast(undefined(n, level, method, "a side has no values"), NAN)
    largest = max(float(np.abs(x).max()), float(np.abs(y).max()))
    exponent = math.frexp(largest)[1]
    x, y = np.ldexp(x, -exponent), np.ldexp(y, -exponent)
    if min(x.size, y.size) < 2:
        difference = float(x.mean() - y.mean())
        return _point_alone(n, difference, exponent, level, method, "a side with one value has no variance")
    mean_x, variance_x = mean_and_variance(x)
    mean_y, variance_y = mean_and_variance(y)
    difference = mean_x - mean_y
    if only_rounding(max(float(np.ptp(x)), float(np.ptp(y))), ldexp(max(least, largest), -exponent)):
        reason = "all values of each side are equal, so the variance is unknown"
        return _point_alone(n, difference, exponent, level, method, reason)
    part_x, part_y = variance_x / x.size, variance_y / y.size
    total = part_x + part_y
    # Weights instead of squares of variances, which underflow below 1e-154.
    share_x, share_y = part_x / total, part_y / total
    df = 1.0 / (share_x**2 / (x.size - 1) + share_y**2 / (y.size - 1))
    if large and min(x.size, y.size) >= large:
        df = math.inf
    elif paper:
        df = float(math.floor(df + 0.5))
    return _contrast(difference, math.sqrt(total), df, exponent, n, level, method)


def stratified_t(
    a: Sequence[Floats], b: Sequence[Floats], level: float, method: str, least: float = 0.0
) -> Contrast:
    """Return the difference of the means of two independent samples within strata, such as the heap sizes of both.

    Args:
        a, b: the values of each stratum, finite; strata without values of one side do not count.
        level: confidence, between 0 and 1.
        method: name stored in the result.
        least: as in `welch_t`.

    Returns:
        Mean of the strata's differences, weighted by m n / (m + n), ± t(1 - α/2; ν) · standard error. Every stratum and side has
        its own variance, and ν is after Satterthwaite. With one stratum: `welch_t`. NaN with a reason if no stratum has both
        sides, or one has a single value of a side.

    Source: Satterthwaite, Biometrics Bulletin 2 (1946).
    """
    both = [(x, y) for x, y in zip(a, b, strict=True) if x.size and y.size]
    n = sum(x.size + y.size for x, y in both)
    if not both:
        return Contrast(undefined(0, level, method, "no combination of the factors has values of both"), NAN)
    if len(both) == 1:
        return welch_t(*both[0], level, method, least)
    largest = max(float(np.abs(side).max()) for pair in both for side in pair)
    exponent = math.frexp(largest)[1]
    both = [(np.ldexp(x, -exponent), np.ldexp(y, -exponent)) for x, y in both]
    sizes = np.array([x.size * y.size / (x.size + y.size) for x, y in both])
    weights = sizes / sizes.sum()
    difference = float(weights @ [float(x.mean() - y.mean()) for x, y in both])
    if any(side.size < 2 for pair in both for side in pair):
        reason = "one value of a combination of the factors has no variance"
        return _point_alone(n, difference, exponent, level, method, reason)
    spread = max(float(np.ptp(side)) for pair in both for side in pair)
    if only_rounding(spread, ldexp(max(least, largest), -exponent)):
        reason = "all values of each combination of the factors are equal, so the variance is unknown"
        return _point_alone(n, difference, exponent, level, method, reason)
    parts = np.array(
        [
            weight**2 * mean_and_variance(side)[1] / side.size
            for weight, pair in zip(weights.tolist(), both, strict=True)
            for side in pair
        ]
    )
    total = float(parts.sum())
    free = np.array([side.size - 1 for pair in both for side in pair])
    df = 1.0 / float(((parts / total) ** 2 / free).sum())
    return _contrast(difference, math.sqrt(total), df, exponent, n, level, method)


def _finite(x: Floats, y: Floats) -> bool:
    return bool(np.isfinite(x).all() and np.isfinite(y).all())


def _not_finite(n: int, level: float, method: str) -> Contrast:
    return Contrast(undefined(n, level, method, "a value is not a finite number"), NAN)


def _point_alone(n: int, point: float, exponent: int, level: float, method: str, reason: str) -> Contrast:
    return Contrast(undefined(n, level, method, reason, ldexp(point, exponent)), NAN)


def _contrast(
    point: float, error: float, df: float, exponent: int, n: int, level: float, method: str
) -> Contrast:
    half = t_quantile(df, level) * error
    low, high = ldexp(point - half, exponent), ldexp(point + half, exponent)
    interval = Interval(n, ldexp(point, exponent), low, high, level, method)
    return Contrast(interval, t_two_sided_p(point / error, df), df)
