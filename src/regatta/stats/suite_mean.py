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

    `these`: how well the mean of these very benchmarks is known; only measurement error counts. `like_these`: what it
    says of further benchmarks, of which these are taken as a random sample; how much they differ among each other counts.
    A suite that somebody chose is hardly a random sample, so the second is the least that a generalisation must allow for.
    """

    these: Interval
    like_these: Interval


def suite_ratio(
    log_ratios: ArrayLike, variances: ArrayLike, dfs: ArrayLike, level: float = 0.95
) -> SuiteRatio:
    """Geometric mean of one ratio a benchmark.

    Args:
        log_ratios: shape (b,): natural logarithms of the ratios. Only benchmarks that every alternative completed.
        variances: shape (b,): of those logarithms as estimates (standard errors squared). One that is not above 0 is not known.
        dfs: shape (b,), > 0: degrees of freedom of each variance; infinite where it is known.
        level: confidence of each interval, between 0 and 1.

    Returns:
        exp(mean of logs) with two intervals: `these` ± t(ν) · √(Σ v_i)/b, ν = (Σ v_i)²/Σ(v_i²/ν_i);
        `like_these` ± t(b - 1) · s/√b, s the standard deviation of the logarithms (which holds their measurement error too),
        and never narrower than `these`.
        NaN with a reason where a variance is not known, or for `like_these` of one benchmark. `n` is b.

    Raises:
        ValueError: the three have not the same length, or `level` is not between 0 and 1.

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
        reason = "one benchmark says nothing of others"
        like_these = undefined(1, level, LIKE_THESE, reason, like_these.point)
    these = _these(logs, spread, df, like_these.point, level)
    if these.high - these.low > like_these.high - like_these.low:
        # Few benchmarks agree by chance better than their own errors let them.
        like_these = replace(like_these, low=these.low, high=these.high)
    return SuiteRatio(these.mapped(safe_exp), like_these.mapped(safe_exp))


def _these(logs: Floats, variances: Floats, dfs: Floats, point: float, level: float) -> Interval:
    """On logs, around `point`, their mean."""
    b = int(logs.size)
    if b == 0:
        return undefined(0, level, THESE, "no benchmarks")
    if math.isnan(point):
        return undefined(b, level, THESE, "a value is not a finite number")
    unknown = ~(np.isfinite(variances) & (variances > 0.0) & (dfs > 0.0))
    if unknown.any():
        what = "the benchmark" if b == 1 else f"{int(unknown.sum())} of {b} benchmarks"
        return undefined(b, level, THESE, f"the spread of {what} is unknown", point)
    total = float(variances.sum())
    shares = variances / total
    df = 1.0 / weight if (weight := float((shares**2 / dfs).sum())) > 0.0 else math.inf
    half = t_quantile(df, level) * math.sqrt(total) / b
    return Interval(b, point, point - half, point + half, level, THESE)
