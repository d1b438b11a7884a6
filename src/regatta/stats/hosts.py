"""One difference measured on several hosts: pooled over them, and whether it is the same on all.

Values are taken as they are: who compares ratios passes logarithms. A block belongs to one host, so that differences
inside blocks already leave out the host; what is left to ask is whether the difference itself depends on the host.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, fdtrc

from regatta.stats.anova import block_anova
from regatta.stats.estimate import NAN, Contrast, Floats, Interval, check_level, only_rounding, undefined
from regatta.stats.intervals import t_quantile, t_two_sided_p

FIXED_HOSTS = "fixed-hosts"
RANDOM_HOSTS = "random-hosts"


@dataclass(frozen=True)
class HostEffect:
    """One host's difference. `weight`: its variance is that of one error divided by it (blocks, where paired).

    `error` and `df`: sum of squares about the effect and its degrees of freedom; `largest`: magnitude of the values.
    An effect that cannot be estimated is NaN with weight 0.
    """

    effect: float
    weight: float
    error: float
    df: int
    n: int
    largest: float


@dataclass(frozen=True)
class HostInteraction:
    """The F test of "the alternatives differ by the same amounts on every host". NaN with a reason when undefined."""

    f: float
    df_interaction: int
    df_error: int
    p: float
    reason: str = ""


@dataclass(frozen=True)
class PooledEffect:
    """A difference over several hosts, and the test of whether it is the same on all. `hosts`: on how many it rests."""

    contrast: Contrast
    interaction: HostInteraction
    hosts: int


def paired_effect(differences: ArrayLike) -> HostEffect:
    """The effect on one host from differences inside its blocks.

    Args:
        differences: shape (blocks,), alternative - baseline; may be empty.
    """
    d = np.asarray(differences, dtype=np.float64).ravel()
    if not d.size or not np.isfinite(d).all():
        return HostEffect(NAN, 0.0, 0.0, 0, int(d.size), 0.0)
    mean = float(d.mean())
    return HostEffect(
        mean, float(d.size), float(((d - mean) ** 2).sum()), d.size - 1, d.size, float(np.abs(d).max())
    )


def unpaired_effect(a: ArrayLike, b: ArrayLike) -> HostEffect:
    """The effect on one host from two independent samples.

    Args:
        a: shape (m,), the alternative; may be empty.
        b: shape (n,), the baseline; may be empty.
    """
    x, y = (np.asarray(side, dtype=np.float64).ravel() for side in (a, b))
    n = int(x.size + y.size)
    if not x.size or not y.size or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return HostEffect(NAN, 0.0, 0.0, 0, n, 0.0)
    error = float(((x - x.mean()) ** 2).sum() + ((y - y.mean()) ** 2).sum())
    largest = float(max(np.abs(x).max(), np.abs(y).max()))
    weight = 1.0 / (1.0 / x.size + 1.0 / y.size)
    return HostEffect(float(x.mean() - y.mean()), weight, error, n - 2, n, largest)


def pool_hosts(effects: Sequence[HostEffect], level: float = 0.95, random: bool = False) -> PooledEffect:
    """Pool the effects of several hosts.

    Args:
        effects: of each host; those that could not be estimated take no part.
        level: confidence, between 0 and 1.
        random: False, and the answer is for these hosts: each counts the same, the error is that within hosts.
            True, and it is for hosts like these: Student's t on the hosts' effects.

    Returns:
        Fixed: mean effect ± t(N) · √(MSE · Σ 1/w_h)/H, MSE = Σ error_h / N, N = Σ df_h; random: mean ± t(H - 1) · s/√H.
        `contrast.interval.n` counts the values on all hosts. The interaction's F has H - 1 and N degrees of freedom.
        Where the hosts' spreads differ (Bartlett's test at 5 %), each keeps its own: ± t(ν) · √(Σ s²_h/w_h)/H with
        Satterthwaite's ν, and Welch's F. NaN with a reason without a host, without degrees of freedom, without spread; random hosts need two.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Neter, Wasserman and Kutner, "Applied Linear Statistical Models", chapters on two-factor studies with fixed and
    with random levels; the pooled error of a randomised block design repeated at several places: Cochran and Cox,
    "Experimental Designs", chapter 14.
    """
    check_level(level)
    method = RANDOM_HOSTS if random else FIXED_HOSTS
    known = [one for one in effects if one.weight > 0.0]
    n = sum(one.n for one in known)
    means = np.array([one.effect for one in known])
    df = sum(one.df for one in known)
    interaction = _interaction_of(known, means, df)
    if not known:
        nothing = Contrast(undefined(0, level, method, "no host has both sides"), NAN)
        return PooledEffect(nothing, interaction, 0)
    point = float(means.mean())
    if random:
        contrast = _over_host_means(means, n, point, level)
        return PooledEffect(contrast, interaction, len(known))
    problem = _no_error(known, df)
    if problem:
        return PooledEffect(
            Contrast(undefined(n, level, method, problem, point), NAN), interaction, len(known)
        )
    if _spreads_differ(known):
        parts = np.array([one.error / one.df / one.weight for one in known])
        dfs = np.array([one.df for one in known], dtype=np.float64)
        deviation = math.sqrt(float(parts.sum())) / len(known)
        own = float(parts.sum()) ** 2 / float((parts**2 / dfs).sum())
        separate = _contrast(point, deviation, own, n, level, method)
        return PooledEffect(separate, _welch_interaction(means, parts, dfs), len(known))
    square = sum(one.error for one in known) / df
    deviation = math.sqrt(square * sum(1.0 / one.weight for one in known)) / len(known)
    return PooledEffect(_contrast(point, deviation, df, n, level, method), interaction, len(known))


def host_interaction(tables: Sequence[ArrayLike]) -> HostInteraction:
    """Do the alternatives differ by the same amounts on every host? For all alternatives at once, in blocks.

    Args:
        tables: of each host, shape (blocks, k): row = block, column = alternative (the same on all hosts); NaN where the
            value is missing.

    Returns:
        F = ((SSE of block + alternative - SSE of block + alternative on each host) / their difference in df) / MSE of
        the latter. NaN with a reason when fewer than two hosts can be compared or no degrees of freedom are left.

    Raises:
        ValueError: a table has not two dimensions, or they differ in k.

    Source: the general linear test, Neter, Wasserman and Kutner, "Applied Linear Statistical Models", chapter 2.8.
    """
    arrays = [np.asarray(table, dtype=np.float64) for table in tables]
    if len({array.shape[1:] for array in arrays}) > 1:
        raise ValueError("tables of hosts: expected the same alternatives in each")
    fits = [fit for fit in (block_anova(array) for array in arrays) if not math.isnan(fit.error)]
    if len(fits) < 2:
        return _unknown("fewer than two hosts hold two alternatives in one block")
    together = block_anova(np.vstack(arrays))
    error, df_error = sum(fit.error for fit in fits), sum(fit.df_error for fit in fits)
    largest = max(float(np.nanmax(np.abs(array))) for array in arrays if not np.isnan(array).all())
    return _tested(together.error - error, together.df_error - df_error, error, df_error, largest)


def _interaction_of(known: Sequence[HostEffect], means: Floats, df: int) -> HostInteraction:
    if len(known) < 2:
        return _unknown("fewer than two hosts have both sides")
    weights = np.array([one.weight for one in known])
    common = float(weights @ means) / float(weights.sum())
    between = float(weights @ (means - common) ** 2)
    error, largest = sum(one.error for one in known), max(one.largest for one in known)
    return _tested(between, len(known) - 1, error, df, largest)


def _spreads_differ(known: Sequence[HostEffect]) -> bool:
    """Bartlett's test at 5 %: is one error for all hosts wrong? Hosts with a single degree of freedom or no spread decide nothing.

    Source: Bartlett, Proceedings of the Royal Society A 160 (1937).
    """
    if len(known) < 2 or any(one.df < 2 or one.error <= 0.0 for one in known):
        return False
    df = np.array([one.df for one in known], dtype=np.float64)
    variance = np.array([one.error / one.df for one in known])
    total = float(df.sum())
    statistic = total * math.log(float(df @ variance) / total) - float(df @ np.log(variance))
    correction = 1.0 + (float((1.0 / df).sum()) - 1.0 / total) / (3.0 * (len(known) - 1))
    return float(chdtrc(len(known) - 1, statistic / correction)) < 0.05


def _welch_interaction(means: Floats, variances: Floats, dfs: Floats) -> HostInteraction:
    """Are the hosts' effects equal, where each has a variance of its own? Source: Welch, Biometrika 38 (1951)."""
    weights = 1.0 / variances
    shares = weights / weights.sum()
    between = float(weights @ (means - float(shares @ means)) ** 2)
    k = means.size
    lack = float(((1.0 - shares) ** 2 / dfs).sum())
    f = between / (k - 1) / (1.0 + 2.0 * (k - 2) / (k * k - 1) * lack)
    df_error = (k * k - 1) / (3.0 * lack)
    return HostInteraction(f, k - 1, round(df_error), float(fdtrc(k - 1, df_error, f)))


def _tested(between: float, df: int, error: float, df_error: int, largest: float) -> HostInteraction:
    if df < 1:
        return _unknown("no two hosts share two alternatives")
    if df_error < 1:
        return _unknown("one value of each alternative on a host leaves no error to judge by")
    if only_rounding(math.sqrt(error / df_error), max(1.0, largest)):
        return _unknown("the differences do not vary within hosts, so their spread is unknown")
    # Rounding may leave a difference of sums of squares a little below 0.
    f = max(between, 0.0) / df / (error / df_error)
    return HostInteraction(f, df, df_error, float(fdtrc(df, df_error, f)))


def _no_error(known: Sequence[HostEffect], df: int) -> str:
    if df < 1:
        return "one value on each host has no spread"
    spread = math.sqrt(sum(one.error for one in known) / df)
    if only_rounding(spread, max(1.0, *(one.largest for one in known))):
        return "the differences do not vary within hosts, so their spread is unknown"
    return ""


def _over_host_means(means: Floats, n: int, point: float, level: float) -> Contrast:
    if means.size < 2:
        return Contrast(undefined(n, level, RANDOM_HOSTS, "one host says nothing of others", point), NAN)
    if only_rounding(float(np.ptp(means)), max(1.0, float(np.abs(means).max()))):
        reason = f"the effects on all {means.size} hosts are equal, so their spread is unknown"
        return Contrast(undefined(n, level, RANDOM_HOSTS, reason, point), NAN)
    deviation = float(means.std(ddof=1)) / math.sqrt(means.size)
    return _contrast(point, deviation, means.size - 1, n, level, RANDOM_HOSTS)


def _contrast(point: float, deviation: float, df: float, n: int, level: float, method: str) -> Contrast:
    half = t_quantile(df, level) * deviation
    interval = Interval(n, point, point - half, point + half, level, method)
    return Contrast(interval, t_two_sided_p(point / deviation, df), float(df))


def _unknown(reason: str) -> HostInteraction:
    return HostInteraction(NAN, 0, 0, NAN, reason)
