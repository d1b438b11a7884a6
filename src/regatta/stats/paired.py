"""Ratios of pairs measured close together, many comparisons of equal shape at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from regatta.stats.estimate import (
    NAN,
    ROUNDING_ULPS,
    Contrast,
    Floats,
    Interval,
    check_level,
    safe_exp,
    undefined,
)
from regatta.stats.intervals import t_quantile, why_no_logs

PAIRED = "paired-log-t"


def paired_log_ratios(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> list[Contrast]:
    """Ratio a/b of pairs of each of m comparisons, with Student's t on the differences of logs.

    Args:
        a: shape (m, n), > 0: the alternatives, one value a block.
        b: shape (m, n), > 0: their baselines in the same blocks, same unit.
        level: confidence of each interval by itself, between 0 and 1.

    Returns:
        m contrasts: exp(mean d ± t(1 - α/2; n - 1) · s_d/√n) with d = log a - log b, and the p value of "the ratio is 1".
        `n` counts pairs. One pair, or pairs whose ratios are all equal, give the point alone.

    Raises:
        ValueError: the shapes differ or are not (m, n), or `level` is not between 0 and 1.

    Source: Student's paired t test on logs; why blocks: Box, Hunter and Hunter, "Statistics for Experimenters", chapter 3.
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
            _unknown(n, level, "one pair has no spread", point)
            if good
            else _unknown(n, level, _why_not(x[i], y[i]))
            for i, (good, point) in enumerate(zip(fit.tolist(), points, strict=True))
        ]
    largest = np.maximum(1.0, np.maximum(np.abs(log_x).max(axis=1), np.abs(log_y).max(axis=1)))
    spread = d.max(axis=1) - d.min(axis=1) > ROUNDING_ULPS * np.finfo(np.float64).eps * largest
    error = np.sqrt(d.var(axis=1, ddof=1) / n)
    half = t_quantile(n - 1, level) * error
    p = 2.0 * stdtr(n - 1, -np.abs(mean / np.where(error > 0.0, error, 1.0)))
    columns = (fit, spread, mean - half, mean + half, p)
    found = []
    for i, (good, spreads, low, high, one_p) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        if not good:
            found.append(_unknown(n, level, _why_not(x[i], y[i])))
        elif not spreads:
            reason = f"all {n} ratios are equal, so their spread is unknown"
            found.append(_unknown(n, level, reason, points[i]))
        else:
            interval = Interval(n, points[i], safe_exp(low), safe_exp(high), level, PAIRED)
            found.append(Contrast(interval, one_p, n - 1))
    return found


def _why_not(x: Floats, y: Floats) -> str:
    return why_no_logs(x) or why_no_logs(y)


def _unknown(n: int, level: float, reason: str, point: float = NAN) -> Contrast:
    return Contrast(undefined(n, level, PAIRED, reason, point), NAN)
