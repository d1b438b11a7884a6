"""A ratio over a whole suite: for these benchmarks, and for benchmarks like these."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.estimate import Floats, Interval, check_level, safe_exp, undefined
from regatta.stats.intervals import mean_interval, t_quantile
from regatta.stats.moments import vector

THESE = "geometric-mean-these"
LIKE_THESE = "geometric-mean-like-these"


@dataclass(frozen=True)
class SuiteRatio:
    """One geometric mean with two intervals.

    `these`: interval of the mean of exactly these benchmarks; includes only measurement error. `like_these`: interval for other
    benchmarks, of which these are treated as a random sample; includes the variation between benchmarks. A selected suite is
    rarely a random sample, so the second is the minimum uncertainty of a generalization.
    """

    these: Interval
    like_these: Interval


def suite_ratio(
    log_ratios: ArrayLike, variances: ArrayLike, dfs: ArrayLike, level: float = 0.95
) -> SuiteRatio:
    """Return the geometric mean of one ratio per benchmark.

    Args:
        log_ratios: shape (b,): natural logarithms of the ratios. Only benchmarks that every alternative completed.
        variances: shape (b,): of those logarithms as estimates (standard errors squared). Variances <= 0 are unknown.
        dfs: shape (b,), > 0: degrees of freedom of each variance; infinite for a known variance.
        level: confidence of each interval, between 0 and 1.

    Returns:
        exp(mean of logs) with two intervals: `these` ± t(ν) · √(Σ v_i)/b, ν = (Σ v_i)²/Σ(v_i²/ν_i);
        `like_these` ± t(b - 1) · s/√b, s the standard deviation of the logarithms (which includes their measurement error),
        and never narrower than `these`.
        NaN with a reason if a variance is unknown, or for `like_these` of one benchmark. `n` is b.

    Raises:
        ValueError: the lengths differ, or `level` is not between 0 and 1.

    Source: Fleming and Wallace, CACM 29 (1986) for the geometric mean; Satterthwaite, Biometrics Bulletin 2 (1946).
    """
    check_level(level)
    logs, spread, df = vector(log_ratios), vector(variances), vector(dfs)
    if not logs.size == spread.size == df.size:
        raise ValueError(
            f"suite: expected as many variances and dfs as ratios ({logs.size}) · got {spread.size} and {df.size}"
        )
    like_these = mean_interval(logs, level, LIKE_THESE)
    if logs.size == 1 and not math.isnan(like_these.point):
        reason = "one benchmark does not represent others"
        like_these = undefined(1, level, LIKE_THESE, reason, like_these.point)
    these = _these(logs, spread, df, like_these.point, level)
    if these.high - these.low > like_these.high - like_these.low:
        # By chance, few benchmarks can agree better than their own errors allow.
        like_these = replace(like_these, low=these.low, high=these.high)
    return SuiteRatio(these.mapped(safe_exp), like_these.mapped(safe_exp))


def log_variance(ratio: Interval, df: float) -> float:
    """Return the variance of the logarithm of a ratio, from its t interval with `df` degrees of freedom; NaN without one."""
    if not (math.isfinite(ratio.low) and math.isfinite(ratio.high) and ratio.low > 0.0):
        return math.nan
    half = (math.log(ratio.high) - math.log(ratio.low)) / 2.0
    return (half / t_quantile(df, ratio.level)) ** 2


def _these(logs: Floats, variances: Floats, dfs: Floats, point: float, level: float) -> Interval:
    """Return the interval on logs, around their mean `point`."""
    b = int(logs.size)
    if b == 0:
        return undefined(0, level, THESE, "no benchmarks")
    if math.isnan(point):
        return undefined(b, level, THESE, "a value is not a finite number")
    unknown = ~(np.isfinite(variances) & (variances > 0.0) & (dfs > 0.0))
    if unknown.any():
        what = "the benchmark" if b == 1 else f"{int(unknown.sum())} of {b} benchmarks"
        return undefined(b, level, THESE, f"the variance of {what} is unknown", point)
    total = float(variances.sum())
    shares = variances / total
    df = 1.0 / weight if (weight := float((shares**2 / dfs).sum())) > 0.0 else math.inf
    half = t_quantile(df, level) * math.sqrt(total) / b
    return Interval(b, point, point - half, point + half, level, THESE)
