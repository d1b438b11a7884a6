"""The ratio of two alternatives, on logs: paired by block, or unpaired when nothing ties the values together."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

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
from regatta.stats.paired import PAIRED, paired_log_ratios

__all__ = ["PAIRED", "WELCH", "paired_log_ratio", "welch_log_ratio"]

WELCH = "welch-log"


def paired_log_ratio(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Contrast:
    """Ratio a/b of pairs measured close together, with Student's t on the differences of logs.

    Args:
        a: shape (n,), > 0: the alternative, one value a block.
        b: shape (n,), > 0: the baseline in the same blocks, same unit.
        level: confidence, between 0 and 1.

    Returns:
        exp(mean d ± t(1 - α/2; n - 1) · s_d/√n) with d = log a - log b, and the p value of "the ratio is 1".
        `n` counts pairs. One pair, or pairs whose ratios are all equal, give the point alone.

    Raises:
        ValueError: the shapes differ, or `level` is not between 0 and 1.

    Source: Student's paired t test on logs; why blocks: Box, Hunter and Hunter, "Statistics for Experimenters", chapter 3.
    """
    x, y = _vector(a), _vector(b)
    if x.shape != y.shape:
        raise ValueError(f"pairs: expected as many values on both sides · got {x.size} and {y.size}")
    return paired_log_ratios(x[None], y[None], level)[0]


def welch_log_ratio(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Contrast:
    """Ratio of the geometric means of two independent samples, by Welch's t on logs.

    Args:
        a: shape (m,), > 0: the alternative.
        b: shape (n,), > 0: the baseline, same unit.
        level: confidence, between 0 and 1.

    Returns:
        exp(difference of mean logs ± t(1 - α/2; ν) · √(s_a²/m + s_b²/n)), ν after Welch and Satterthwaite, and the
        p value of "the ratio is 1". `n` counts the values of both sides. Needs two values on each side, and spread on one.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Welch, Biometrika 34 (1947); Satterthwaite, Biometrics Bulletin 2 (1946).
    """
    check_level(level)
    x, y = _vector(a), _vector(b)
    n = int(x.size + y.size)
    problem = "a side has no values" if not x.size or not y.size else why_no_logs(x) or why_no_logs(y)
    if problem:
        return Contrast(undefined(n, level, WELCH, problem), NAN)
    log_x, log_y = np.log(x), np.log(y)
    mean = float(log_x.mean() - log_y.mean())
    if min(x.size, y.size) < 2:
        return Contrast(
            undefined(n, level, WELCH, "a side with one value has no spread", safe_exp(mean)), NAN
        )
    largest = max(1.0, float(np.abs(log_x).max()), float(np.abs(log_y).max()))
    if only_rounding(max(float(np.ptp(log_x)), float(np.ptp(log_y))), largest):
        reason = "all values of each side are equal, so their spread is unknown"
        return Contrast(undefined(n, level, WELCH, reason, safe_exp(mean)), NAN)
    part_x, part_y = _variance(log_x) / x.size, _variance(log_y) / y.size
    total = part_x + part_y
    # Weights instead of squares of variances: those vanish below 1e-154.
    share_x, share_y = part_x / total, part_y / total
    df = 1.0 / (share_x**2 / (x.size - 1) + share_y**2 / (y.size - 1))
    return _t_contrast(mean, math.sqrt(total), df, n, level, WELCH)


def _t_contrast(mean: float, error: float, df: float, n: int, level: float, method: str) -> Contrast:
    half = t_quantile(df, level) * error
    on_logs = Interval(n, mean, mean - half, mean + half, level, method)
    return Contrast(on_logs.mapped(safe_exp), t_two_sided_p(mean / error, df))


def _vector(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64).ravel()


def _variance(x: Floats) -> float:
    return float(x.var(ddof=1))
