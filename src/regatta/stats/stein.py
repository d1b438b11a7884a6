"""The interval of Stein's two-stage procedure: the spread of the pilot with the mean of all pairs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from regatta.stats.estimate import (
    NAN,
    Contrast,
    Floats,
    Interval,
    check_level,
    only_rounding,
    safe_exp,
    undefined,
)
from regatta.stats.intervals import t_quantile, t_two_sided_p, why_no_logs
from regatta.stats.ratios import paired_log_ratio

STEIN = "stein-paired-log-t"

#: If the later spread is less probable than this, the pilot is not representative.
_SIGNIFICANT = 0.01
#: Fewer pairs have no spread.
_LEAST_PAIRS = 2


def stein_log_ratio(
    a: ArrayLike, b: ArrayLike, pilot: int, level: float = 0.95, counted: bool = False
) -> Contrast:
    """Return the ratio a/b of pairs whose number was chosen by the spread of the first pairs.

    Args:
        a: shape (n,), > 0: the alternative, one value per block, those of the pilot first.
        b: shape (n,), > 0: the baseline in the same blocks, same unit.
        pilot: n0, the number of leading pairs that determined the number of pairs, 0 to n.
        level: confidence, between 0 and 1.
        counted: whether the values are exact counts, never rounded by a clock.

    Returns:
        exp(mean d ± t(1 - α/2; n0 - 1) · s0/√n) with d = log a - log b, its mean over all n pairs and its standard deviation s0
        over the pilot, and the p value of "the ratio is 1". The coverage is exact for any n that the pilot leads to: the spread
        of the pilot is independent of the mean, and later pairs did not affect their number. `n` counts all pairs; `df` is n0 -
        1. If the later pairs vary more than the pilot (F test at 1 %: rare slow runs), a wider Student's interval over all
        pairs is returned, under its own name. A pilot of one pair, or with equal ratios, gives only the point;
        counts without variance have an exact ratio, as in `paired_log_ratios`, which then names the method.

    Raises:
        ValueError: the shapes differ, `pilot` is not between 0 and n, or `level` is not between 0 and 1.

    Source: C. Stein, A two-sample test for a linear hypothesis whose power is independent of the variance, Annals of
    Mathematical Statistics 16 (1945), on logs of pairs.
    """
    check_level(level)
    x = np.asarray(a, dtype=np.float64).ravel()
    y = np.asarray(b, dtype=np.float64).ravel()
    if x.shape != y.shape:
        raise ValueError(f"pairs: expected as many values on both sides · got {x.size} and {y.size}")
    n = int(x.size)
    if not 0 <= pilot <= n:
        raise ValueError(f"pilot: expected 0 to {n} pairs · got {pilot}")
    problem = "no pairs" if n == 0 else why_no_logs(x) or why_no_logs(y)
    if problem:
        return Contrast(undefined(n, level, STEIN, problem), NAN)
    log_x, log_y = np.log(x), np.log(y)
    d = log_x - log_y
    mean = float(d.mean())
    first = d[:pilot]
    if pilot < _LEAST_PAIRS:
        reason = f"{pilot} of {n} pairs in the pilot, so the variance is unknown"
        return Contrast(undefined(n, level, STEIN, reason, safe_exp(mean)), NAN)
    if counted:
        ordinary = paired_log_ratio(x, y, level, counted)
        if ordinary.interval.is_exact:
            return ordinary
    largest = max(1.0, float(np.abs(log_x).max()), float(np.abs(log_y).max()))
    if only_rounding(float(np.ptp(first)), largest):
        reason = f"all {pilot} ratios of the pilot are equal, so the variance is unknown"
        return Contrast(undefined(n, level, STEIN, reason, safe_exp(mean)), NAN)
    if _contradicts(d, pilot):
        ordinary = paired_log_ratio(x, y, level)
        if (
            float(np.var(d, ddof=1)) * t_quantile(n - 1, level) ** 2
            > float(first.var(ddof=1)) * t_quantile(pilot - 1, level) ** 2
        ):
            return ordinary
    error = math.sqrt(float(first.var(ddof=1)) / n)
    half = t_quantile(pilot - 1, level) * error
    on_logs = Interval(n, mean, mean - half, mean + half, level, STEIN)
    return Contrast(on_logs.mapped(safe_exp), t_two_sided_p(mean / error, pilot - 1), pilot - 1)


def _contradicts(d: Floats, pilot: int) -> bool:
    """Return whether the differences after the pilot vary more than those of the pilot."""
    later = d[pilot:]
    if later.size < _LEAST_PAIRS:
        return False
    ratio = float(later.var(ddof=1) / d[:pilot].var(ddof=1))
    return float(fdtrc(later.size - 1, pilot - 1, ratio)) < _SIGNIFICANT
