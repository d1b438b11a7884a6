"""A ratio over a whole suite: for these benchmarks, and for benchmarks like these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.anova import Bools
from regatta.stats.estimate import NAN, Contrast, Floats, Interval, check_level, exact, safe_exp, undefined
from regatta.stats.hosts import geometric_mean
from regatta.stats.intervals import mean_interval, t_quantile, t_two_sided_p
from regatta.stats.looks import STOPPED, mean_over_looks, quantile_over_looks
from regatta.stats.moments import vector

THESE = "geometric-mean-these"
LIKE_THESE = "geometric-mean-like-these"


@dataclass(frozen=True)
class SuiteRatio:
    """One geometric mean with two intervals.

    `these`: interval of the mean of exactly these benchmarks; includes only measurement error. `like_these`: interval for other
    benchmarks, of which these are treated as a random sample; includes the variation between benchmarks. A selected suite is
    rarely a random sample, so the second is the minimum uncertainty of a generalization.
    `p`: two-sided, of "the mean over exactly these benchmarks is 1"; `df`: degrees of freedom of `these`. NaN when undefined; exact
    means have no `df`.
    """

    these: Interval
    like_these: Interval
    p: float
    df: float


@dataclass(frozen=True)
class Together:
    """Benchmarks that were measured in the same rounds and share their conditions, so that their errors are not independent.

    `members`: their indices. `log_mean`, `variance`, `df`: the mean of their logarithms as one estimate, from one value per round.
    `reason`: why the variance is unknown, else "".
    """

    members: tuple[int, ...]
    log_mean: float
    variance: float
    df: float
    reason: str = ""


def together(members: Sequence[int], mean: Contrast) -> Together:
    """Return benchmarks that share rounds, from the t interval of the mean of their logarithms."""
    interval = mean.interval
    half = (interval.high - interval.low) / 2.0
    variance = math.nan if math.isnan(half) else (half / t_quantile(mean.df, interval.level)) ** 2
    return Together(tuple(members), interval.point, variance, mean.df, interval.reason)


def suite_ratio(
    log_ratios: ArrayLike,
    variances: ArrayLike,
    dfs: ArrayLike,
    level: float = 0.95,
    shared: Together | None = None,
    exact_ratios: ArrayLike = NAN,
    looks: int = 0,
) -> SuiteRatio:
    """Return the geometric mean of one ratio per benchmark.

    Args:
        log_ratios: shape (b,): natural logarithms of the ratios. Only benchmarks that every alternative completed.
        variances: shape (b,): of those logarithms as estimates (standard errors squared). Variances <= 0 are unknown.
        dfs: shape (b,), > 0: degrees of freedom of each variance; infinite for a known variance.
        level: confidence of each interval, between 0 and 1.
        shared: benchmarks whose ratios are not independent; None: all are independent, as ratios within blocks are.
        exact_ratios: shape (b,): the ratios that are exact (of counts that do not vary), whose variance is 0; NaN for the others.
        looks: as in `Contrast`; `these` is then `mean_over_looks`, also where ratios are not independent, and `like_these` is
            undefined.

    Returns:
        exp(mean of logs) with two intervals: `these` ± t(ν) · √(Σ v_i)/b, ν = (Σ v_i)²/Σ(v_i²/ν_i), where m benchmarks that share
        rounds count as one estimate with the weight m; `like_these` ± t(b - 1) · s/√b, s the standard deviation of the logarithms
        (which includes their measurement error), and never narrower than `these`. What benchmarks of the same rounds have in
        common does not show in s: the excess b/(b - 1) · (v - Σ v_i/b²) of the variance v of `these` is added to s²/b, which
        never narrows the interval.
        NaN with a reason if a variance is unknown, or for `like_these` of one benchmark. `n` is b. Exact ratios add no variance
        to `these`; if all are exact, its interval is the point, and p is 0, or 1 for a ratio of 1.

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
    exactly = np.broadcast_to(np.asarray(exact_ratios, dtype=np.float64), logs.shape)
    known = ~np.isnan(exactly)
    if logs.size and known.all():
        found = exact(geometric_mean(exactly.tolist()), logs.size, level, THESE, NAN)
        return SuiteRatio(found.interval, like_these.mapped(safe_exp), found.p, found.df)
    spread, df = np.where(known, 0.0, spread), np.where(known, math.inf, df)
    if looks:
        found = _over_looks(logs, spread, df, known, level, looks)
        other = undefined(logs.size, level, LIKE_THESE, STOPPED, found.interval.point)
        return SuiteRatio(found.interval.mapped(safe_exp), other.mapped(safe_exp), found.p, found.df)
    found, common, common_df = _these(logs, spread, df, known, like_these.point, level, shared)
    these = found.interval
    if common > 0.0:
        like_these = _with_common(logs, these.point, common, common_df, level)
    if these.high - these.low > like_these.high - like_these.low:
        # By chance, few benchmarks can agree better than their own errors allow.
        like_these = replace(like_these, low=these.low, high=these.high)
    return SuiteRatio(these.mapped(safe_exp), like_these.mapped(safe_exp), found.p, found.df)


def log_variance(ratio: Interval, df: float, looks: int = 0) -> float:
    """Return the variance of the logarithm of a ratio, from its t interval with `df` degrees of freedom; NaN without one.

    `looks`: as in `Contrast`.
    """
    if not (math.isfinite(ratio.low) and math.isfinite(ratio.high) and ratio.low > 0.0):
        return math.nan
    half = (math.log(ratio.high) - math.log(ratio.low)) / 2.0
    return (half / quantile_over_looks(df, ratio.level, looks)) ** 2


def _these(
    logs: Floats,
    variances: Floats,
    dfs: Floats,
    known: Bools,
    mean: float,
    level: float,
    shared: Together | None,
) -> tuple[Contrast, float, float]:
    """Return the mean on logs, and the variance that the ratios have in common, with its degrees of freedom.

    `known`: which ratios are exact. `mean`: of `logs`, the point unless benchmarks share rounds.
    """
    b = int(logs.size)
    if problem := _problem(logs, variances, dfs, known):
        return _unknown(b, level, problem, mean), 0.0, math.nan
    # Whole numbers as weights, divided by b at the end: ratios that share no rounds keep every digit of their sums.
    weights, point, spread, df = np.ones(b), mean, variances, dfs
    if shared is not None:
        if not (shared.variance > 0.0 and shared.df > 0.0):
            reason = shared.reason or "the variance of the rounds is unknown"
            return _unknown(b, level, reason, mean), 0.0, math.nan
        alone = np.setdiff1d(np.arange(b), shared.members)
        weights = np.append(weights[alone], float(len(shared.members)))
        points, spread, df = (
            np.append(all_[alone], one)
            for all_, one in ((logs, shared.log_mean), (variances, shared.variance), (dfs, shared.df))
        )
        point = float((weights * points).sum()) / b
    parts = weights**2 * spread
    total = float(parts.sum())
    shares = parts / total
    joint = 1.0 / weight if (weight := float((shares**2 / df).sum())) > 0.0 else math.inf
    half = t_quantile(joint, level) * math.sqrt(total) / b
    interval = Interval(b, point, point - half, point + half, level, THESE)
    these = Contrast(interval, t_two_sided_p(point * b / math.sqrt(total), joint), joint)
    if shared is None or b == 1:
        return these, 0.0, math.nan
    return these, (total - float(variances.sum())) / (b * (b - 1)), shared.df


def _over_looks(
    logs: Floats, variances: Floats, dfs: Floats, known: Bools, level: float, looks: int
) -> Contrast:
    b = int(logs.size)
    point = float(logs.mean()) if b else math.nan
    if problem := _problem(logs, variances, dfs, known):
        return _unknown(b, level, problem, point)
    errors = list(zip(variances.tolist(), dfs.tolist(), strict=True))
    return mean_over_looks(errors, point, b, level, looks, THESE)


def _problem(logs: Floats, variances: Floats, dfs: Floats, known: Bools) -> str:
    """Return why the mean of ratios has no interval; "" if it has one."""
    if not logs.size:
        return "no benchmarks"
    if not np.isfinite(logs).all():
        return "a value is not a finite number"
    unknown = ~known & ~(np.isfinite(variances) & (variances > 0.0) & (dfs > 0.0))
    if not unknown.any():
        return ""
    what = "the benchmark" if logs.size == 1 else f"{int(unknown.sum())} of {logs.size} benchmarks"
    return f"the variance of {what} is unknown"


def _unknown(b: int, level: float, reason: str, point: float = math.nan) -> Contrast:
    return Contrast(undefined(b, level, THESE, reason, point), math.nan)


def _with_common(logs: Floats, point: float, common: float, common_df: float, level: float) -> Interval:
    """Return the interval for similar benchmarks whose errors have a variance in common."""
    b = int(logs.size)
    own = float(logs.var(ddof=1)) / b
    total = own + common
    df = 1.0 / ((own / total) ** 2 / (b - 1) + (common / total) ** 2 / common_df)
    # The combined degrees of freedom are too many where few benchmarks differ much: 0.87 instead of 0.95 covered with two.
    half = max(t_quantile(df, level) * math.sqrt(total), t_quantile(b - 1, level) * math.sqrt(own))
    return Interval(b, point, point - half, point + half, level, LIKE_THESE)
