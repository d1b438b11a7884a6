"""The ratio of two alternatives, on logs: paired by block, or unpaired."""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from regatta.stats.differences import welch_difference, welch_t
from regatta.stats.estimate import (
    NAN,
    ROUNDING_ULPS,
    Contrast,
    Floats,
    Interval,
    check_level,
    exact,
    safe_exp,
    undefined,
)
from regatta.stats.intervals import GEORGES_2007, t_quantile, why_no_logs
from regatta.stats.moments import vector

PAIRED = "paired-log-t"
WELCH = "welch-log"


def paired_log_ratios(
    a: ArrayLike, b: ArrayLike, level: float = 0.95, counted: ArrayLike = False
) -> list[Contrast]:
    """Return the ratio a/b of pairs of each of m comparisons, with Student's t on the differences of logs.

    Args:
        a: shape (m, n), > 0: the alternatives, one value per block.
        b: shape (m, n), > 0: their baselines in the same blocks, same unit.
        level: confidence of each individual interval, between 0 and 1.
        counted: of each comparison, or of all: whether the values are exact counts, never rounded by a clock.

    Returns:
        m contrasts: exp(mean d ± t(1 - α/2; n - 1) · s_d/√n) with d = log a - log b, and the p value of "the ratio is 1". `n`
        counts pairs. One pair, or pairs with equal ratios, give only the point. Counts that are equal on each side have an exact
        ratio: the interval is the point, and p is 0, or 1 for a ratio of 1.

    Raises:
        ValueError: the shapes differ or are not (m, n), or `level` is not between 0 and 1.

    Source: Student's paired t test on logs; for blocks: Box, Hunter and Hunter, "Statistics for Experimenters", chapter 3.
    """
    check_level(level)
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 2:
        raise ValueError(f"pairs: expected as many values on both sides · got {x.shape} and {y.shape}")
    n = x.shape[1]
    fit = np.logical_and.reduce(np.isfinite(x) & np.isfinite(y) & (x > 0.0) & (y > 0.0), axis=1)
    if n == 0 or not len(x):
        return [_unknown(n, level, "no pairs")] * len(x)
    log_x, log_y = (np.log(np.where(fit[:, None], side, 1.0)) for side in (x, y))
    d = log_x - log_y
    mean = d.mean(axis=1)
    points = [safe_exp(value) for value in mean.tolist()]
    if n == 1:
        return [
            _unknown(n, level, "one pair has no variance", point)
            if good
            else _unknown(n, level, _why_not(x[i], y[i]))
            for i, (good, point) in enumerate(zip(fit.tolist(), points, strict=True))
        ]
    largest = np.maximum(1.0, np.maximum(np.abs(log_x).max(axis=1), np.abs(log_y).max(axis=1)))
    spread = d.max(axis=1) - d.min(axis=1) > ROUNDING_ULPS * np.finfo(np.float64).eps * largest
    error = np.sqrt(d.var(axis=1, ddof=1) / n)
    half = t_quantile(n - 1, level) * error
    p = 2.0 * stdtr(n - 1, -np.abs(mean / np.where(error > 0.0, error, 1.0)))
    constant = (x == x[:, :1]).all(axis=1) & (y == y[:, :1]).all(axis=1) & np.asarray(counted, dtype=np.bool_)
    columns = (fit, constant, spread, mean - half, mean + half, p)
    found = []
    for i, (good, same, spreads, low, high, one_p) in enumerate(
        zip(*(c.tolist() for c in columns), strict=True)
    ):
        if not good:
            found.append(_unknown(n, level, _why_not(x[i], y[i])))
        elif same:
            found.append(exact(float(x[i, 0] / y[i, 0]), n, level, PAIRED, n - 1))
        elif not spreads:
            reason = f"all {n} ratios are equal, so the variance is unknown"
            found.append(_unknown(n, level, reason, points[i]))
        else:
            interval = Interval(n, points[i], safe_exp(low), safe_exp(high), level, PAIRED)
            found.append(Contrast(interval, one_p, n - 1))
    return found


def paired_log_ratio(a: ArrayLike, b: ArrayLike, level: float = 0.95, counted: bool = False) -> Contrast:
    """Return the ratio a/b of n pairs, one per block: `paired_log_ratios` of one comparison, with sides of shape (n,)."""
    x, y = vector(a), vector(b)
    if x.shape != y.shape:
        raise ValueError(f"pairs: expected as many values on both sides · got {x.size} and {y.size}")
    return paired_log_ratios(x[None], y[None], level, counted)[0]


def welch_log_ratio(a: ArrayLike, b: ArrayLike, level: float = 0.95, counted: bool = False) -> Contrast:
    """Return the ratio of the geometric means of two independent samples, by Welch's t on logs.

    Args:
        a: shape (m,), > 0: the alternative.
        b: shape (n,), > 0: the baseline, same unit.
        level: confidence, between 0 and 1.
        counted: whether the values are exact counts, never rounded by a clock.

    Returns:
        exp(difference of mean logs ± t(1 - α/2; ν) · √(s_a²/m + s_b²/n)), ν after Welch and Satterthwaite, and the p value of
        "the ratio is 1". `n` counts the values of both sides. Requires two values on each side, and spread on one.
        Counts that are equal on each side have an exact ratio, as in `paired_log_ratios`.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Welch, Biometrika 34 (1947); Satterthwaite, Biometrics Bulletin 2 (1946).
    """
    check_level(level)
    x, y = vector(a), vector(b)
    n = int(x.size + y.size)
    problem = "a side has no values" if not x.size or not y.size else why_no_logs(x) or why_no_logs(y)
    if problem:
        return Contrast(undefined(n, level, WELCH, problem), NAN)
    if counted and do_not_vary(x, y):
        return exact(float(x[0] / y[0]), n, level, WELCH, n - 2)
    return welch_t(np.log(x), np.log(y), level, WELCH, least=1.0).mapped(safe_exp)


def georges_ratio(a: ArrayLike, b: ArrayLike, level: float = 0.95, counted: bool = False) -> Contrast:
    """Return the ratio by the method of the paper: 1 plus the difference of the means relative to the baseline's mean.

    Args:
        a: shape (m,): the alternative.
        b: shape (n,): the baseline, same unit, with a positive mean.
        level: confidence, between 0 and 1.
        counted: whether the values are exact counts, never rounded by a clock.

    Returns:
        1 + (interval of mean a - mean b)/mean b; degrees of freedom and p value of `welch_difference(method="georges2007")`.
        The baseline's mean is treated as known: the interval is that of the difference, not of the ratio (see
        `welch_log_ratio`). NaN with a reason if the baseline's mean is not positive. Counts that are equal on each side have
        an exact ratio, as in `paired_log_ratios`.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Georges et al. (OOPSLA 2007), section 3.3, the difference of means; here in per cent of the baseline.
    """
    x, y = vector(a), vector(b)
    contrast = welch_difference(x, y, level, GEORGES_2007)
    baseline = _mean(y)
    if not baseline > 0.0:
        n = contrast.interval.n
        reason = contrast.interval.reason or "the baseline's mean is not positive"
        return Contrast(undefined(n, level, GEORGES_2007, reason), NAN)
    if counted and do_not_vary(x, y):
        return exact(float(x[0] / y[0]), contrast.interval.n, level, GEORGES_2007, contrast.interval.n - 2)
    return contrast.mapped(lambda difference: 1.0 + difference / baseline)


def do_not_vary(*sides: Floats) -> bool:
    """Return whether each side has at least two values, all finite and equal."""
    return all(side.size >= 2 and bool((side == side[0]).all() and np.isfinite(side[0])) for side in sides)


def _mean(x: Floats) -> float:
    """Return the mean without overflow of the sum; NaN for no values or one that is not finite."""
    if not x.size or not np.isfinite(x).all():
        return NAN
    with np.errstate(over="ignore"):
        mean = float((x / x.size).sum())
    # The shares of values near the largest number round up, and their sum can exceed it.
    return mean if math.isfinite(mean) else math.copysign(sys.float_info.max, mean)


def _why_not(x: Floats, y: Floats) -> str:
    return why_no_logs(x) or why_no_logs(y)


def _unknown(n: int, level: float, reason: str, point: float = NAN) -> Contrast:
    return Contrast(undefined(n, level, PAIRED, reason, point), NAN)
