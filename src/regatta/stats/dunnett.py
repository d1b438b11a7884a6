"""Dunnett's comparisons: every alternative against one control, with simultaneous intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from regatta.stats.anova import Anova, Bools
from regatta.stats.estimate import NAN, Floats, Interval, check_level, undefined
from regatta.stats.quadrature import TailPolynomial, normal_rule, quantile_of, scale_rule, tail_polynomial
from regatta.stats.tukey import Indices, PairDifference, why_not

DUNNETT = "dunnett"
#: Correlations without product structure (incomplete blocks) are replaced by the smallest of them.
DUNNETT_SMALLEST = "dunnett-smallest-correlation"

#: Maximum precision of the inner integrand for which nodes are added: 35,000 nodes.
_SHARPEST = 1e6
#: Evaluations of the normal distribution per step, which limits memory to about 25 MB.
_CHUNK = 2**20
#: Calls with more values than this are interpolated, unless the correlation makes the tail too steep.
_MANY, _SMOOTH = 256, 0.95
#: The t that the variable t / (t + c) of the polynomial maps to the middle.
_MIDDLE = 3.0


def dunnett_many(
    fits: Sequence[Anova], control: int, level: float = 0.95
) -> list[tuple[PairDifference, ...]]:
    """Return all differences from one control, with simultaneous two-sided intervals and adjusted p values.

    Args:
        fits: families from `one_way` or `block_anova`, of any shapes, with the control in the same column. Families of one
            shape share one evaluation.
        control: column of the control, 0 to k - 1.
        level: simultaneous confidence of the intervals of a family, between 0 and 1.

    Returns:
        For each family of k alternatives, k - 1 differences `first` - `second` in the order of the columns, in the unit of the
        values; `second` is the control. Exact for independent groups of any size and for complete blocks. The correlations of
        incomplete blocks are not products, so the smallest is used for all (method `dunnett-smallest-correlation`), which
        widens the intervals. Pairs that cannot be estimated are NaN with a reason.

    Raises:
        ValueError: `level` is not between 0 and 1, or `control` is not a column.

    Source: Dunnett, Journal of the American Statistical Association 50 (1955), and Biometrics 20 (1964); proof that less
    correlation means wider intervals: Slepian (1962), Šidák, Annals of Mathematical Statistics 39 (1968).
    """
    check_level(level)
    families = [_prepared(fit, control) for fit in fits]
    shapes: dict[tuple[tuple[float, ...], int], list[_Family]] = {}
    for family in families:
        if family.usable.any():
            shapes.setdefault((family.loadings, family.fit.df_error), []).append(family)
    for (loadings, df), alike in shapes.items():
        d = quantile(level, loadings, float(df))
        t = [np.abs(one.difference[one.usable]) / one.error for one in alike]
        tails = upper_tail(np.concatenate(t), loadings, float(df))
        for one, p in zip(alike, np.split(tails, np.cumsum([x.size for x in t])[:-1]), strict=True):
            one.p[one.usable] = p
            one.half[one.usable] = d * one.error
    return [_pairs(family, control, level) for family in families]


@dataclass(frozen=True)
class _Family:
    """A fit and the differences from its control. `error`: of usable ones. `half`, `p`: filled in; elsewhere NaN."""

    fit: Anova
    others: Indices
    difference: Floats
    known: Bools
    usable: Bools
    error: Floats
    loadings: tuple[float, ...]
    method: str
    half: Floats
    p: Floats


def _prepared(fit: Anova, control: int) -> _Family:
    k = len(fit.effects)
    if not 0 <= control < k:
        raise ValueError(f"control: expected a column 0 to {k - 1} · got {control}")
    others = np.array([i for i in range(k) if i != control], dtype=np.intp)
    difference = fit.effects[others] - fit.effects[control]
    known = fit.linked[others, control] & ~np.isnan(difference)
    usable = known & (not fit.reason)
    error, method = np.empty(0), DUNNETT
    loadings: tuple[float, ...] = (0.0,)
    if usable.any():
        variance, loadings, exact = _loadings(fit.spread, others[usable], control)
        method = DUNNETT if exact else DUNNETT_SMALLEST
        error = np.sqrt(fit.mean_square_error * variance)
    nothing = np.full((2, others.size), np.nan)
    return _Family(fit, others, difference, known, usable, error, loadings, method, nothing[0], nothing[1])


def _pairs(family: _Family, control: int, level: float) -> tuple[PairDifference, ...]:
    fit, method = family.fit, family.method
    pairs = []
    for index, i in enumerate(family.others.tolist()):
        n, middle = int(fit.counts[i, control]), float(family.difference[index])
        if family.usable[index]:
            width = float(family.half[index])
            interval = Interval(n, middle, middle - width, middle + width, level, method)
        else:
            reason = fit.reason or why_not(fit, i, control)
            interval = undefined(n, level, method, reason, middle if family.known[index] else NAN)
        pairs.append(PairDifference(i, control, interval, float(family.p[index])))
    return tuple(pairs)


def upper_tail(t: ArrayLike, loadings: tuple[float, ...], df: float) -> Floats:
    """Return P(max |T_i| > t) for T_i = (λ_i X + sqrt(1 - λ_i²) Y_i) / s, X, Y_i standard normal: the adjusted p value.

    Args:
        t: shape (n,), >= 0. NaN gives NaN.
        loadings: λ_i of each comparison, 0 to below 1; the correlation of i and j is λ_i λ_j.
        df: degrees of freedom of s, >= 1.

    Returns:
        Shape (n,), between 0 and 1, absolute error below 1e-9.

    Raises:
        ValueError: an argument is out of range.

    Source: Dunnett (1955), equation for product correlations: P(max |T| <= t) =
    ∫ f(s; df) ∫ φ(x) Π_i [Φ((t s + λ_i x) / sqrt(1 - λ_i²)) - Φ((-t s + λ_i x) / sqrt(1 - λ_i²))] dx ds.
    """
    if not loadings or not all(0.0 <= one < 1.0 for one in loadings) or not df >= 1:
        raise ValueError(
            f"Dunnett: expected loadings from 0 to below 1 and df >= 1 · got {loadings}, df={df}"
        )
    values = np.atleast_1d(np.asarray(t, dtype=np.float64))
    result = np.full(values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(values))
    which = np.maximum(values[known], 0.0)
    # Decide by the size of this call alone, so that the result does not depend on previous calls.
    many = known.size > _MANY and max(loadings) <= _SMOOTH
    result[known] = _polynomial(loadings, df)(which) if many else _integral(which, loadings, df)
    return result


@lru_cache(maxsize=256)
def _polynomial(loadings: tuple[float, ...], df: float) -> TailPolynomial:
    return tail_polynomial(lambda t: _integral(t, loadings, df), _MIDDLE)


def _integral(t: Floats, loadings: tuple[float, ...], df: float) -> Floats:
    # A single comparison is Student's t, for any loading.
    given = np.array(loadings if len(loadings) > 1 else (0.0,))
    distinct, times = np.unique(given, return_counts=True)
    own = np.sqrt(1.0 - distinct**2)
    s, weight = scale_rule(df)
    # A heavier control makes the integrand sharper. The limit corresponds to about 10^6 values per value of the control.
    x, x_weight = normal_rule(min(_SHARPEST, 1.0 + float((times * (distinct / own) ** 2).sum())))
    result = np.empty(t.size)
    step = max(1, _CHUNK // (s.size * x.size))
    for start in range(0, t.size, step):
        width = (t[start : start + step, None] * s[None, :])[:, :, None]
        inside = np.ones((1, 1, 1))
        for loading, alone, count in zip(distinct.tolist(), own.tolist(), times.tolist(), strict=True):
            middle = loading * x
            inside = inside * (ndtr((width + middle) / alone) - ndtr((middle - width) / alone)) ** count
        result[start : start + step] = 1.0 - (inside @ x_weight) @ weight
    return np.clip(result, 0.0, 1.0)


@lru_cache(maxsize=4096)
def quantile(level: float, loadings: tuple[float, ...], df: float) -> float:
    """Return d(level; loadings, df), the quantile of max |T_i| for probability `level`. Results are cached.

    Raises:
        ValueError: an argument is out of range.
    """
    check_level(level)
    return quantile_of(lambda t: float(upper_tail(t, loadings, df)[0]), level)


def _loadings(
    spread: Floats, others: np.ndarray[tuple[int, ...], np.dtype[np.intp]], control: int
) -> tuple[Floats, tuple[float, ...], bool]:
    """Return variance and loading of each difference from the control, and whether the loadings are exact.

    The variances are for unit variance of the error.
    """
    with_control = spread[others, control]
    covariance = (
        spread[np.ix_(others, others)]
        - with_control[:, None]
        - with_control[None, :]
        + spread[control, control]
    )
    variance = np.diag(covariance).copy()
    if others.size == 1:
        return variance, (0.0,), True
    correlation = covariance / np.sqrt(np.outer(variance, variance))
    apart = ~np.eye(others.size, dtype=bool)
    smallest = max(0.0, float(correlation[apart].min()))
    equal = math.sqrt(smallest)
    if float(correlation[apart].max()) - smallest < 1e-9:
        return variance, (_kept(equal),) * others.size, True
    # For independent groups, the differences share only the mean of the control.
    shared = spread[control, control] / variance
    products = np.sqrt(np.clip(np.outer(shared, shared), 0.0, None))
    if (shared < 1.0).all() and float(np.abs(products - correlation)[apart].max()) < 1e-9:
        return variance, tuple(_kept(math.sqrt(one)) for one in shared.tolist()), True
    return variance, (_kept(equal),) * others.size, False


def _kept(loading: float) -> float:
    """Round so that equal values hit the cache."""
    return round(loading, 12)
