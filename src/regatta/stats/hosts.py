"""One difference measured on several hosts: the pooled difference, and a test of whether it is equal on all hosts.

Values are not transformed. To compare ratios, pass logarithms. A block belongs to one host, so differences inside blocks
already exclude the effect of the host. The remaining question is whether the difference itself depends on the host.
Every host keeps its own observed spread. No preliminary test decides whether the spreads are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from regatta.stats.anova import Anova, block_anova
from regatta.stats.differences import welch_t
from regatta.stats.estimate import (
    NAN,
    Contrast,
    Floats,
    Interval,
    check_level,
    exact,
    only_rounding,
    safe_exp,
    undefined,
)
from regatta.stats.intervals import t_quantile, t_two_sided_p
from regatta.stats.looks import STOPPED, mean_over_looks
from regatta.stats.moments import vector
from regatta.stats.multiplicity import sidak_level, sidak_p
from regatta.stats.ratios import do_not_vary

FIXED_HOSTS = "fixed-hosts"
RANDOM_HOSTS = "random-hosts"
SIDAK_HOSTS = "sidak-fixed-hosts"

#: Eigenvalues below this share of the largest belong to contrasts that the data do not connect.
_NULL = 1e-13


@dataclass(frozen=True)
class Spread:
    """Variance and number of values: the variance of their mean is `variance / n`, with n - 1 degrees of freedom."""

    variance: float
    n: int


@dataclass(frozen=True)
class HostEffect:
    """The difference on one host.

    `spreads`: of the pairs whose mean it is, or of the two samples whose means it compares. `largest`: magnitude of the values.
    An effect that cannot be estimated is NaN, without spreads. `ratio`: of counts that do not vary, the exact ratio whose logarithm
    the effect is, else NaN.
    """

    effect: float
    spreads: tuple[Spread, ...]
    n: int
    largest: float
    ratio: float = NAN

    @property
    def exact(self) -> bool:
        """Return whether the effect is the logarithm of an exact ratio."""
        return not math.isnan(self.ratio)

    @property
    def known(self) -> bool:
        """Return whether there is an effect."""
        return bool(self.spreads)

    @property
    def judged(self) -> bool:
        """Return whether there is an effect and a spread for judging it."""
        return self.known and min(one.n for one in self.spreads) >= 2

    @property
    def constant(self) -> bool:
        """Return whether all of its spread is rounding."""
        deviation = math.sqrt(max((one.variance for one in self.spreads), default=0.0))
        return only_rounding(deviation, max(1.0, self.largest))

    def parts(self, weight: float = 1.0) -> list[tuple[float, int]]:
        """Return the components of the variance of `weight` times the effect, each with its degrees of freedom."""
        return [(weight**2 * one.variance / one.n, one.n - 1) for one in self.spreads]


@dataclass(frozen=True)
class HostInteraction:
    """The F test of "the alternatives differ by the same amounts on every host". NaN with a reason when undefined.

    Exact ratios have no F, but a `p`: 1 if they are equal on all hosts, else 0.
    """

    f: float
    df_interaction: int
    df_error: float
    p: float
    reason: str = ""


@dataclass(frozen=True)
class PooledEffect:
    """A difference over several hosts, and the test of whether it is equal on all.

    `hosts`: number of hosts used; `taken`: for each given effect, whether it is used; `error`: standard error of the contrast,
    NaN when undefined; `exact_ratio`: of effects that are all exact, their geometric mean, else NaN.
    """

    contrast: Contrast
    interaction: HostInteraction
    hosts: int
    taken: tuple[bool, ...]
    error: float = NAN
    exact_ratio: float = NAN

    @property
    def ratio(self) -> Interval:
        """Return the pooled ratio, of effects that are differences of logarithms."""
        return _ratio(self.contrast.interval, self.exact_ratio)


def paired_effect(differences: ArrayLike) -> HostEffect:
    """Return the effect on one host from differences inside its blocks.

    Args:
        differences: shape (blocks,), alternative - baseline; may be empty. Values of one alternative give its mean.
    """
    d = np.asarray(differences, dtype=np.float64).ravel()
    if not d.size or not np.isfinite(d).all():
        return HostEffect(NAN, (), int(d.size), 0.0)
    return HostEffect(float(d.mean()), (_spread(d),), d.size, float(np.abs(d).max()))


def unpaired_effect(a: ArrayLike, b: ArrayLike) -> HostEffect:
    """Return the effect on one host from two independent samples, each with its own spread.

    Args:
        a: shape (m,), the alternative; may be empty.
        b: shape (n,), the baseline; may be empty.
    """
    x, y = (np.asarray(side, dtype=np.float64).ravel() for side in (a, b))
    n = int(x.size + y.size)
    if not x.size or not y.size or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return HostEffect(NAN, (), n, 0.0)
    largest = float(max(np.abs(x).max(), np.abs(y).max()))
    return HostEffect(float(x.mean() - y.mean()), (_spread(x), _spread(y)), n, largest)


def with_exact_ratio(effect: HostEffect, a: ArrayLike, b: ArrayLike) -> HostEffect:
    """Return the effect of counts; exact if the counts of each side do not vary.

    Args:
        effect: difference of logarithms, from `paired_effect` or `unpaired_effect`.
        a: shape (m,), > 0: the counts of the alternative that the effect is of.
        b: shape (n,), > 0: those of the baseline.
    """
    x, y = vector(a), vector(b)
    if not effect.known or not do_not_vary(x, y):
        return effect
    ratio = float(x[0] / y[0])
    spreads = tuple(replace(one, variance=0.0) for one in effect.spreads)
    return replace(effect, effect=math.log(ratio), spreads=spreads, ratio=ratio)


def pool_hosts(
    effects: Sequence[HostEffect],
    level: float = 0.95,
    random: bool = False,
    looks: int = 0,
    rounds: ArrayLike | None = None,
) -> PooledEffect:
    """Pool the effects of several hosts.

    Args:
        effects: of each host. Undefined effects are ignored. With fixed hosts, effects from a single value are also ignored,
            because their spread is unknown.
        level: confidence, between 0 and 1.
        random: False: the result holds for these hosts; each has the same weight and keeps its own spread. True: it holds for
            hosts like these, by Student's t on the hosts' effects.
        looks: as in `Contrast`; without `rounds`, each host has decided for itself.
        rounds: shape (hosts, n), with `looks` and fixed hosts that decided together: the differences of the effects that are used,
            in the n >= 2 rounds that all these hosts have.

    Returns:
        Fixed: mean effect ± t(ν) · √(Σ v_h)/H, v_h = s²_h/n_h of the H hosts (of independent samples, the sum of both sides'),
        ν = (Σ v_h)² / Σ (v²_h/(n_h - 1)) after Satterthwaite; random: mean ± t(H - 1) · s/√H. `contrast.interval.n` counts the
        values on the hosts used. The interaction is Welch's F. NaN with a reason without a host, without degrees of freedom,
        without spread, or with fewer than two random hosts. Of fixed hosts whose effects are all exact, the mean is exact: its
        interval is the point, and p is 0, or 1 for a ratio of 1. Random hosts with equal effects do not show how much others
        differ: undefined. With several looks, each effect is more extreme than it is true, which a mean does not reduce. Fixed
        hosts then have the mean of intervals that contain the effects of all hosts with the confidence `level`; random hosts and
        the interaction are undefined. Hosts that decided together have the interval of the n means of `rounds`, by which they
        decided.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Satterthwaite, Biometrics Bulletin 2 (1946); Welch, Biometrika 38 (1951); fixed and random hosts: Neter, Wasserman
    and Kutner, "Applied Linear Statistical Models", chapters on two-factor studies with fixed and with random levels.
    """
    check_level(level)
    method = RANDOM_HOSTS if random else FIXED_HOSTS
    taken = tuple(one.known if random else one.judged for one in effects)
    used = [one for one, counts in zip(effects, taken, strict=True) if counts]
    known = [one for one in effects if one.known]
    undefined_test = looks and not all(one.exact for one in known)
    interaction = _unknown(STOPPED) if undefined_test else _interaction_of(known)
    if not used:
        return PooledEffect(_nothing(effects, level, method), interaction, 0, taken)
    n = sum(one.n for one in used)
    means = np.array([one.effect for one in used])
    point = float(means.mean())
    together = paired_effect([] if rounds is None else np.asarray(rounds, dtype=np.float64).mean(axis=0))
    error = NAN
    if random and looks:
        contrast = Contrast(undefined(n, level, method, STOPPED, point), NAN)
    elif random:
        contrast = _over_host_means(means, n, point, level)
    elif all(one.exact for one in used):
        return _pooled_exactly(used, interaction, taken, n, level)
    elif looks and together.known and together.constant:
        reason = "the mean differences do not vary, so the variance is unknown"
        contrast = Contrast(undefined(together.n, level, method, reason, together.effect), NAN)
    elif all(one.constant for one in used):
        reason = "the differences do not vary within hosts, so the variance is unknown"
        contrast = Contrast(undefined(n, level, method, reason, point), NAN)
    elif looks and together.known:
        errors = [_error_of(together)]
        contrast = mean_over_looks(errors, together.effect, together.n, level, looks, FIXED_HOSTS)
    elif looks:
        errors = [_error_of(one) for one in used]
        contrast = mean_over_looks(errors, point, n, level, looks, FIXED_HOSTS)
    else:
        variance, df = _satterthwaite([part for one in used for part in one.parts(1.0 / len(used))])
        error = math.sqrt(variance)
        contrast = _contrast(point, error, df, n, level, method)
    return PooledEffect(contrast, interaction, len(used), taken, error)


def _error_of(effect: HostEffect) -> tuple[float, float]:
    """Return the variance of an effect and its degrees of freedom."""
    parts = effect.parts()
    return _satterthwaite(parts) if any(variance for variance, _ in parts) else (0.0, math.inf)


def _pooled_exactly(
    used: Sequence[HostEffect], interaction: HostInteraction, taken: tuple[bool, ...], n: int, level: float
) -> PooledEffect:
    ratio = geometric_mean([one.ratio for one in used])
    df = float(sum(part.n - 1 for one in used for part in one.spreads))
    found = exact(ratio, n, level, FIXED_HOSTS, df)
    return PooledEffect(found.mapped(math.log), interaction, len(used), taken, 0.0, ratio)


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean of positive exact ratios: of equal ratios without rounding, and 1 if it is 1 but for rounding."""
    if len(set(ratios)) == 1:
        return ratios[0]
    logs = [math.log(ratio) for ratio in ratios]
    mean = math.fsum(logs) / len(logs)
    return 1.0 if only_rounding(abs(mean), max(1.0, *map(abs, logs))) else safe_exp(mean)


@dataclass(frozen=True)
class PlatformDifference:
    """A difference of two groups of hosts: for exactly these hosts, and for hosts like these.

    `taken_a`, `taken_b`: for each given host, whether it is used. `exact_ratio`: as given to `platform_difference`.
    """

    these: Contrast
    like_these: Contrast
    taken_a: tuple[bool, ...]
    taken_b: tuple[bool, ...]
    exact_ratio: float = NAN

    @property
    def ratio(self) -> Contrast:
        """Return the ratio for exactly these hosts, of logarithms."""
        return replace(self.these, interval=_ratio(self.these.interval, self.exact_ratio))


def exact_ratio_of(a: Sequence[Sequence[ArrayLike]], b: Sequence[Sequence[ArrayLike]]) -> float:
    """Return the exact ratio of the geometric means of two groups of hosts; NaN if any counts vary.

    Args:
        a: of each host of the first group, the counts > 0 of each benchmark, each of shape (n,); the benchmarks are the same on
            all hosts. A single value does not show that counts do not vary.
        b: the same for the second group, same unit.
    """
    means = []
    for group in (a, b):
        counts = [vector(one) for host in group for one in host]
        if not counts or not do_not_vary(*counts) or any(one[0] <= 0.0 for one in counts):
            return NAN
        means.append(geometric_mean([float(one[0]) for one in counts]))
    ratio = means[0] / means[1]
    several = any(len(group) > 1 or len(group[0]) > 1 for group in (a, b))
    rounding = only_rounding(abs(math.log(ratio)), max(1.0, *(abs(math.log(mean)) for mean in means)))
    return 1.0 if several and rounding else ratio


def platform_difference(
    a: Sequence[ArrayLike], b: Sequence[ArrayLike], level: float = 0.95, exact_ratio: float = NAN
) -> PlatformDifference:
    """Return the mean of hosts a minus the mean of hosts b; nothing is paired, because hosts share no blocks.

    Args:
        a: values of each host of the first group, each of shape (n_h,). Hosts with fewer than two values are ignored.
        b: the same for the second group, same unit.
        level: confidence of each interval, between 0 and 1.
        exact_ratio: of logarithms of counts that do not vary on any host, the ratio of the two groups; NaN: of other values.

    Returns:
        `these`: difference of the means of the hosts' means ± t(ν) · √(Σ v_h/A² + Σ v_h/B²), v_h = s²_h/n_h of the A and B hosts,
        ν after Satterthwaite; includes only measurement error. `like_these`: Welch's t on the hosts' means; includes the
        variation between hosts, requires two hosts in each group, and is never narrower than `these`. NaN with a reason if
        undefined. With an exact ratio, the interval of `these` is its logarithm, and p is 0, or 1 for a ratio of 1.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Satterthwaite, Biometrics Bulletin 2 (1946); Welch, Biometrika 34 (1947); fixed and random hosts as in `pool_hosts`.
    """
    check_level(level)
    given = [[paired_effect(values) for values in hosts] for hosts in (a, b)]
    taken_a, taken_b = (tuple(one.judged for one in side) for side in given)
    sides = [[one for one in side if one.judged] for side in given]
    n = sum(one.n for side in sides for one in side)
    if not all(sides):
        nothing = "a side has no host with two values"
        return PlatformDifference(
            Contrast(undefined(n, level, FIXED_HOSTS, nothing), NAN),
            Contrast(undefined(n, level, RANDOM_HOSTS, nothing), NAN),
            taken_a,
            taken_b,
        )
    means = [np.array([one.effect for one in side]) for side in sides]
    point = float(means[0].mean() - means[1].mean())
    if not math.isnan(exact_ratio):
        df = float(n - sum(map(len, sides)))
        these = exact(exact_ratio, n, level, FIXED_HOSTS, df).mapped(math.log)
    elif all(one.constant for side in sides for one in side):
        reason = "the values do not vary within hosts, so the variance is unknown"
        these = Contrast(undefined(n, level, FIXED_HOSTS, reason, point), NAN)
    else:
        parts = [part for side in sides for one in side for part in one.parts(1.0 / len(side))]
        variance, df = _satterthwaite(parts)
        these = _contrast(point, math.sqrt(variance), df, n, level, FIXED_HOSTS)
    if min(map(len, sides)) < 2:
        reason = "one host does not represent others"
        like = Contrast(undefined(n, level, RANDOM_HOSTS, reason, point), NAN)
        return PlatformDifference(these, like, taken_a, taken_b, exact_ratio)
    like = welch_t(means[0], means[1], level, RANDOM_HOSTS, least=1.0)
    own, interval = these.interval, like.interval
    if own.high - own.low > interval.high - interval.low:
        # By chance, few hosts can agree better than their own errors allow.
        like = Contrast(replace(interval, low=own.low, high=own.high), these.p, these.df)
    return PlatformDifference(these, like, taken_a, taken_b, exact_ratio)


def pool_pair(
    effects: Sequence[HostEffect],
    alternatives: int,
    level: float = 0.95,
    looks: int = 0,
    rounds: ArrayLike | None = None,
) -> PooledEffect:
    """Pool one of all pairs of alternatives over fixed hosts, each pair with its own error.

    Args:
        effects: the pair's difference on each host.
        alternatives: number of alternatives, at least 2, which determines the number of pairs.
        level: simultaneous confidence of the intervals of all pairs, between 0 and 1.
        looks, rounds: as in `pool_hosts`.

    Returns:
        As `pool_hosts` with fixed hosts, at the confidence level^(1/m) for the m = k (k - 1) / 2 pairs, and 1 - (1 - p)^m
        (Sidak; of independent samples on one host this is Tamhane's T2).

    Raises:
        ValueError: `level` is not between 0 and 1, or there are fewer than two alternatives.

    Source: Sidak, JASA 62 (1967); Tamhane, JASA 74 (1979). See `all_pairs` for the reasons.
    """
    check_level(level)
    if alternatives < 2:
        raise ValueError(f"pairs: expected at least 2 alternatives · got {alternatives}")
    m = math.comb(alternatives, 2)
    pooled = pool_hosts(effects, sidak_level(level, m), looks=looks, rounds=rounds)
    own = pooled.contrast
    _, comma, remark = own.interval.method.partition(",")
    interval = replace(own.interval, level=level, method=f"{SIDAK_HOSTS}{comma}{remark}")
    return replace(pooled, contrast=replace(own, interval=interval, p=sidak_p(own.p, m)))


def differing_hosts(effects: Sequence[HostEffect], level: float = 0.95) -> list[int]:
    """Return the indices of the few hosts without which the others agree.

    Args:
        effects: of each host; those without a spread are ignored.
        level: confidence of Welch's F for agreement of hosts, between 0 and 1.

    Returns:
        Ascending indices. While the remaining hosts differ, the host furthest from the mean of the others, in standard errors,
        is removed. Empty if all hosts agree, or if half of them or more would be removed: then the differing host cannot be
        identified, as with two hosts. Of exact ratios, the hosts differ that do not have the most common one.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Welch's F as in `pool_hosts`; removing one at a time is backward selection.
    """
    check_level(level)
    rest = [place for place, one in enumerate(effects) if one.judged]
    most = (len(rest) - 1) // 2
    if rest and all(effects[place].exact for place in rest):
        ratios = [effects[place].ratio for place in rest]
        common = max(ratios, key=ratios.count)
        others = [place for place in rest if effects[place].ratio != common]
        return others if len(others) <= most else []
    gone: list[int] = []
    while _interaction_of([effects[place] for place in rest]).p < 1.0 - level:
        if len(gone) == most:
            return []
        odd = max(rest, key=lambda place: _distance(effects, rest, place))
        rest.remove(odd)
        gone.append(odd)
    return sorted(gone)


def _distance(effects: Sequence[HostEffect], places: Sequence[int], own: int) -> float:
    """Return the distance from the mean of the others, in standard errors of that difference."""
    weights = {place: 1.0 if place == own else -1.0 / (len(places) - 1) for place in places}
    difference = math.fsum(weight * effects[place].effect for place, weight in weights.items())
    variance = math.fsum(v for place, weight in weights.items() for v, _ in effects[place].parts(weight))
    return abs(difference) / math.sqrt(variance)


def host_interaction(tables: Sequence[ArrayLike], looks: int = 0) -> HostInteraction:
    """Test whether the alternatives differ by the same amounts on every host: all alternatives at once, in blocks.

    Args:
        tables: of each host, shape (blocks, k): row = block, column = alternative (the same on all hosts); NaN for a missing
            value.
        looks: as in `pool_hosts`; the test is then undefined.

    Returns:
        F = T / c with f and m degrees of freedom. T = Σ (β_h - β)' W_h (β_h - β), with f independent contrasts. β_h are a
        host's effects after blocks, W_h their information divided by the host's own error variance, β their mean weighted by
        W_h. With A_h = W⁺ W_h, of r_h independent contrasts and ν_h degrees of freedom, B = Σ tr((I - A_h)²)/ν_h
        and C = Σ tr(I - A_h)²/ν_h: m = f (f + 2)/(2B + C), c = f + 2B - 2 (2B + C)/(f + 2). For two alternatives this is
        Welch's F. NaN with a reason if fewer than two hosts have an error estimate.

    Raises:
        ValueError: a table does not have two dimensions, or tables differ in k.

    Source: Welch, Biometrika 38 (1951), and Johansen, Biometrika 67 (1980), with the two moments of T for a scalar error
    variance per host instead of a matrix.
    """
    arrays = [np.asarray(table, dtype=np.float64) for table in tables]
    if len({array.shape[1:] for array in arrays}) > 1:
        raise ValueError("tables of hosts: expected the same alternatives in each")
    if looks:
        return _unknown(STOPPED)
    pairs = [(array, block_anova(array)) for array in arrays]
    fits = [(array, fit) for array, fit in pairs if not math.isnan(fit.error) and fit.df_between >= 1]
    if len(fits) < 2:
        return _unknown("fewer than two hosts hold two alternatives in one block")
    fits = [(array, fit) for array, fit in fits if fit.df_error >= 1]
    if len(fits) < 2:
        return _unknown("fewer than two hosts have degrees of freedom for the error")
    if any(math.isnan(fit.mean_square_error) for _, fit in fits):
        return _unknown("the differences do not vary on a host, so the variance there is unknown")
    return _welch_of_tables(fits)


def _welch_of_tables(fits: Sequence[tuple[Floats, Anova]]) -> HostInteraction:
    plain = [_information(array) for array, _ in fits]
    ranks = np.array([fit.df_between for _, fit in fits], dtype=np.float64)
    tied = int(np.linalg.matrix_rank(sum(plain), hermitian=True))
    f = int(ranks.sum()) - tied
    if f < 1:
        return _unknown("no two hosts share two alternatives")
    least = min(fit.mean_square_error for _, fit in fits)
    # Use units of the smallest error variance, so that no weight overflows.
    weights = [own * (least / fit.mean_square_error) for own, (_, fit) in zip(plain, fits, strict=True)]
    inverse = np.linalg.pinv(sum(weights), rcond=_NULL, hermitian=True)
    effects = [np.nan_to_num(fit.effects) for _, fit in fits]
    common = inverse @ sum(w @ effect for w, effect in zip(weights, effects, strict=True))
    statistic = sum(
        float((effect - common) @ w @ (effect - common)) for w, effect in zip(weights, effects, strict=True)
    )
    shares = [inverse @ w for w in weights]
    lacks = ranks - np.array([np.trace(a) for a in shares])
    squares = lacks - np.array([np.trace(a) - np.trace(a @ a) for a in shares])
    df = np.array([fit.df_error for _, fit in fits], dtype=np.float64)
    b, c = float((squares / df).sum()), float((lacks**2 / df).sum())
    df_error = f * (f + 2) / (2 * b + c)
    value = max(statistic, 0.0) / least / (f + 2 * b - 2 * (2 * b + c) / (f + 2))
    return HostInteraction(value, f, df_error, float(fdtrc(f, df_error, value)))


def _information(table: Floats) -> Floats:
    """Return the information of the effects after blocks, shape (k, k): the matrix of the normal equations, error variance 1."""
    seen = (~np.isnan(table)).astype(np.float64)
    seen = seen[seen.sum(axis=1) >= 2]
    information: Floats = np.diag(seen.sum(axis=0)) - seen.T @ (seen / seen.sum(axis=1, keepdims=True))
    return information


def _interaction_of(known: Sequence[HostEffect]) -> HostInteraction:
    """Test whether the effects of the hosts are equal. Source: Welch, Biometrika 38 (1951)."""
    if len(known) < 2:
        return _unknown("fewer than two hosts have both sides")
    judged = [one for one in known if one.judged]
    if len(judged) < 2:
        return _unknown("one value of each alternative per host leaves no degrees of freedom for the error")
    if all(one.exact for one in judged):
        return exact_interaction([[one.ratio for one in judged]])
    if any(one.constant for one in judged):
        return _unknown("the differences do not vary on a host, so the variance there is unknown")
    means = np.array([one.effect for one in judged])
    variances, dfs = (
        np.array(side) for side in zip(*(_satterthwaite(one.parts()) for one in judged), strict=True)
    )
    weights = variances.min() / variances
    shares = weights / weights.sum()
    k = means.size
    between = float(weights @ (means - float(shares @ means)) ** 2) / float(variances.min())
    lack = float(((1.0 - shares) ** 2 / dfs).sum())
    f = between / (k - 1) / (1.0 + 2.0 * (k - 2) / (k * k - 1) * lack)
    df_error = (k * k - 1) / (3.0 * lack)
    return HostInteraction(f, k - 1, df_error, float(fdtrc(k - 1, df_error, f)))


def exact_interaction(ratios: Sequence[Sequence[float]]) -> HostInteraction:
    """Return whether exact ratios are equal on all hosts.

    Args:
        ratios: of each pair of alternatives, its exact ratio on each host.
    """
    same = all(len(set(of_pair)) == 1 for of_pair in ratios)
    reason = f"the ratios are exact, and {'equal on all hosts' if same else 'differ between hosts'}"
    return HostInteraction(NAN, 0, NAN, 1.0 if same else 0.0, reason)


def _ratio(on_logs: Interval, exact_ratio: float) -> Interval:
    """Return the interval of a ratio from that of its logarithm, which rounds an exact ratio."""
    known = not math.isnan(exact_ratio)
    return on_logs.mapped((lambda _: exact_ratio) if known else safe_exp)


def _satterthwaite(parts: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """Return the sum of estimated variances, not all 0, and its degrees of freedom. Source: Satterthwaite (1946)."""
    total = math.fsum(variance for variance, _ in parts)
    # Shares instead of squares of variances, which underflow below 1e-154.
    return total, 1.0 / math.fsum((variance / total) ** 2 / df for variance, df in parts)


def _spread(values: Floats) -> Spread:
    """Return the spread. A single value has none: its variance is 0 and has no weight."""
    return Spread(float(values.var(ddof=1)) if values.size > 1 else 0.0, int(values.size))


def _nothing(effects: Sequence[HostEffect], level: float, method: str) -> Contrast:
    known = [one for one in effects if one.known]
    if not known:
        return Contrast(undefined(0, level, method, "no host has both sides"), NAN)
    point = float(np.mean([one.effect for one in known]))
    reason = "one value per host has no variance"
    return Contrast(undefined(sum(one.n for one in known), level, method, reason, point), NAN)


def _over_host_means(means: Floats, n: int, point: float, level: float) -> Contrast:
    if means.size < 2:
        return Contrast(undefined(n, level, RANDOM_HOSTS, "one host does not represent others", point), NAN)
    if only_rounding(float(np.ptp(means)), max(1.0, float(np.abs(means).max()))):
        reason = f"the effects on all {means.size} hosts are equal, so the variance is unknown"
        return Contrast(undefined(n, level, RANDOM_HOSTS, reason, point), NAN)
    deviation = float(means.std(ddof=1)) / math.sqrt(means.size)
    return _contrast(point, deviation, means.size - 1, n, level, RANDOM_HOSTS)


def _contrast(point: float, deviation: float, df: float, n: int, level: float, method: str) -> Contrast:
    half = t_quantile(df, level) * deviation
    interval = Interval(n, point, point - half, point + half, level, method)
    return Contrast(interval, t_two_sided_p(point / deviation, df), float(df))


def _unknown(reason: str) -> HostInteraction:
    return HostInteraction(NAN, 0, NAN, NAN, reason)
