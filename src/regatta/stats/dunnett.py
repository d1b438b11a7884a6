"""Dunnett's comparisons: every alternative with one control, intervals that hold together at one level."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from regatta.stats.anova import Anova
from regatta.stats.estimate import NAN, Floats, Interval, check_level, undefined
from regatta.stats.quadrature import normal_rule, quantile_of, scale_rule
from regatta.stats.tukey import PairDifference, why_not

DUNNETT = "dunnett"
#: correlations that are no products (incomplete blocks) are replaced by the smallest of them
DUNNETT_SMALLEST = "dunnett-smallest-correlation"

#: nodes of the inner integral, and the most of them
_NODES, _MOST_NODES = 128, 4096
#: evaluations of the normal distribution at a time, which bounds the memory to some 25 MB
_CHUNK = 2**20


def dunnett(fit: Anova, control: int, level: float = 0.95) -> tuple[PairDifference, ...]:
    """Differences of all alternatives from one control, with simultaneous two-sided intervals and adjusted p values.

    Args:
        fit: from `one_way` or `block_anova`, with k alternatives.
        control: column of the control, 0 to k - 1.
        level: confidence that all intervals hold together, between 0 and 1.

    Returns:
        k - 1 differences `first` - `second`, `second` being the control, in the order of the columns, in the unit of the values.
        Exact for independent groups of any size and for complete blocks. For incomplete blocks, whose correlations are no
        products, as if all were as little correlated as the least (method `dunnett-smallest-correlation`), which widens the
        intervals. Pairs that cannot be estimated are NaN with a reason.

    Raises:
        ValueError: `level` is not between 0 and 1, or `control` is no column.

    Source: Dunnett, Journal of the American Statistical Association 50 (1955), and Biometrics 20 (1964); that less correlation
    means wider intervals: Slepian (1962), Šidák, Annals of Mathematical Statistics 39 (1968).
    """
    check_level(level)
    k = len(fit.effects)
    if not 0 <= control < k:
        raise ValueError(f"control: expected a column 0 to {k - 1} · got {control}")
    others = np.array([i for i in range(k) if i != control], dtype=np.intp)
    difference = fit.effects[others] - fit.effects[control]
    known = fit.linked[others, control] & ~np.isnan(difference)
    half = np.full(others.size, np.nan)
    p = np.full(others.size, np.nan)
    method = DUNNETT
    usable = known & (not fit.reason)
    if usable.any():
        variance, loadings, exact = _loadings(fit.spread, others[usable], control)
        method = DUNNETT if exact else DUNNETT_SMALLEST
        error = np.sqrt(fit.mean_square_error * variance)
        half[usable] = quantile(level, loadings, float(fit.df_error)) * error
        p[usable] = upper_tail(np.abs(difference[usable]) / error, loadings, float(fit.df_error))
    pairs = []
    for index, i in enumerate(others.tolist()):
        n = int(fit.counts[i, control])
        if usable[index]:
            middle, width = float(difference[index]), float(half[index])
            interval = Interval(n, middle, middle - width, middle + width, level, method)
        else:
            reason = fit.reason or why_not(fit, i, control)
            interval = undefined(n, level, method, reason, float(difference[index]) if known[index] else NAN)
        pairs.append(PairDifference(i, control, interval, float(p[index])))
    return tuple(pairs)


def upper_tail(t: ArrayLike, loadings: tuple[float, ...], df: float) -> Floats:
    """P(max |T_i| > t) for T_i = (λ_i X + sqrt(1 - λ_i²) Y_i) / s with X, Y_i standard normal: the adjusted p value.

    Args:
        t: shape (n,), >= 0. NaN gives NaN.
        loadings: λ_i of each comparison, 0 to below 1; the correlation of i and j is λ_i λ_j.
        df: degrees of freedom of s, >= 1.

    Returns:
        shape (n,), between 0 and 1, absolute error some 1e-9 (1e-5 for df below 3).

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
    # One comparison alone is Student's, whatever the loading.
    given = np.array(loadings if len(loadings) > 1 else (0.0,))
    distinct, times = np.unique(given, return_counts=True)
    own = np.sqrt(1.0 - distinct**2)
    s, weight = scale_rule(df)
    # The more the control weighs, the sharper the integrand.
    sharpest = float((own / np.maximum(distinct, 1e-3)).min())
    x, x_weight = normal_rule(int(min(_MOST_NODES, max(_NODES, _NODES / sharpest))))
    result = np.full(values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(values))
    step = max(1, _CHUNK // (s.size * x.size))
    for start in range(0, known.size, step):
        rows = known[start : start + step]
        width = (np.maximum(values[rows], 0.0)[:, None] * s[None, :])[:, :, None]
        inside = np.ones((1, 1, 1))
        for loading, alone, count in zip(distinct.tolist(), own.tolist(), times.tolist(), strict=True):
            middle = loading * x
            inside = inside * (ndtr((width + middle) / alone) - ndtr((middle - width) / alone)) ** count
        result[rows] = 1.0 - (inside @ x_weight) @ weight
    np.clip(result, 0.0, 1.0, out=result)
    return result


@lru_cache(maxsize=4096)
def quantile(level: float, loadings: tuple[float, ...], df: float) -> float:
    """d(level; loadings, df): what max |T_i| stays below with probability `level`; computed once and kept.

    Raises:
        ValueError: an argument is out of range.
    """
    check_level(level)
    return quantile_of(lambda t: float(upper_tail(t, loadings, df)[0]), level)


def _loadings(
    spread: Floats, others: np.ndarray[tuple[int, ...], np.dtype[np.intp]], control: int
) -> tuple[Floats, tuple[float, ...], bool]:
    """Variance of each difference from the control for unit variance, its loading, and whether the loadings are exact."""
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
    # Independent groups: what the differences share is the control's own mean.
    shared = spread[control, control] / variance
    products = np.sqrt(np.clip(np.outer(shared, shared), 0.0, None))
    if (shared < 1.0).all() and float(np.abs(products - correlation)[apart].max()) < 1e-9:
        return variance, tuple(_kept(math.sqrt(one)) for one in shared.tolist()), True
    return variance, (_kept(equal),) * others.size, False


def _kept(loading: float) -> float:
    """Without the last digits, which rounding makes, so that what was computed once is found again."""
    return round(loading, 12)
