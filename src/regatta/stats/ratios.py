"""The ratio of two alternatives, on logs: paired by block, or unpaired when nothing ties the values together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.differences import welch_difference, welch_t
from regatta.stats.estimate import NAN, Contrast, Floats, check_level, safe_exp, undefined
from regatta.stats.intervals import GEORGES_2007, why_no_logs
from regatta.stats.moments import vector
from regatta.stats.paired import PAIRED, paired_log_ratios

__all__ = ["PAIRED", "WELCH", "georges_ratio", "paired_log_ratio", "welch_log_ratio"]

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
    x, y = vector(a), vector(b)
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
    x, y = vector(a), vector(b)
    n = int(x.size + y.size)
    problem = "a side has no values" if not x.size or not y.size else why_no_logs(x) or why_no_logs(y)
    if problem:
        return Contrast(undefined(n, level, WELCH, problem), NAN)
    return welch_t(np.log(x), np.log(y), level, WELCH, least=1.0).mapped(safe_exp)


def georges_ratio(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Contrast:
    """The paper's way of a ratio: the difference of the means as a share of the baseline's mean, plus 1.

    Args:
        a: shape (m,): the alternative.
        b: shape (n,): the baseline, same unit, with a positive mean.
        level: confidence, between 0 and 1.

    Returns:
        1 + (interval of mean a - mean b)/mean b; degrees of freedom and p value of `welch_difference(method="georges2007")`.
        The baseline's mean counts as known: the interval is that of the difference, not of the ratio (`welch_log_ratio`
        gives that one). NaN with a reason where the baseline's mean is not positive.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Georges et al. (OOPSLA 2007), section 3.3; the difference is given in per cent, as in its section 5.
    """
    contrast = welch_difference(a, b, level, GEORGES_2007)
    baseline = _mean(vector(b))
    if not baseline > 0.0:
        n = contrast.interval.n
        reason = contrast.interval.reason or "the baseline's mean is not positive"
        return Contrast(undefined(n, level, GEORGES_2007, reason), NAN)
    return contrast.mapped(lambda difference: 1.0 + difference / baseline)


def _mean(x: Floats) -> float:
    """Mean whose sum cannot overflow; NaN of no values or of one that is not finite."""
    return float((x / x.size).sum()) if x.size and np.isfinite(x).all() else NAN
