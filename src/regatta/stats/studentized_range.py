"""The studentized range distribution: what Tukey's intervals and p values come from.

scipy.stats has it too, but costs half a second to import and integrates adaptively, milliseconds a value. Here a fixed
Gauss-Legendre rule does all values of a family at once; `tests/unit/stats` holds it against scipy's and against mpmath's values.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, gammaln, ndtr, xlogy

from regatta.stats.estimate import Floats

#: (up to which k, nodes of the inner integral): the more means, the sharper its integrand
_INNER = ((8, 96), (32, 192), (10**9, 384))
#: (below which df, nodes of the outer integral): few degrees of freedom have long tails
_OUTER = ((3, 384), (8, 128), (float("inf"), 64))
#: beyond it the normal density is below 1e-16
_NORMAL_EDGE = 8.5
#: probability left out at the upper end of the scale's distribution
_TAIL = 1e-16
#: evaluations of the normal distribution at a time, which bounds the memory to some 25 MB
_CHUNK = 2**20


def upper_tail(q: ArrayLike, k: int, df: float) -> Floats:
    """P(Q > q): the p value of the studentized range.

    Args:
        q: shape (n,), >= 0: largest differences over their standard error (range / s). NaN gives NaN.
        k: how many means, >= 2.
        df: degrees of freedom of s, >= 1.

    Returns:
        shape (n,), between 0 and 1, absolute error below 1e-9 (1e-5 for df below 3).

    Raises:
        ValueError: `k` or `df` is too small.

    Source: Lund and Lund, Algorithm AS 190, Applied Statistics 32 (1983), for the integral:
    P(Q <= q) = ∫ f(s; df) · k ∫ φ(z) [Φ(z + q s) - Φ(z)]^(k-1) dz ds.
    """
    _check(k, df)
    values = np.atleast_1d(np.asarray(q, dtype=np.float64))
    s, weight = _scale_rule(df)
    z, z_weight = _normal_rule(k)
    below = ndtr(z)
    result = np.full(values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(values))
    step = max(1, _CHUNK // (s.size * z.size))
    for start in range(0, known.size, step):
        rows = known[start : start + step]
        width = np.maximum(values[rows], 0.0)[:, None] * s[None, :]
        inside = ndtr(z[None, None, :] + width[:, :, None]) - below
        result[rows] = 1.0 - (inside ** (k - 1) @ z_weight) @ weight
    np.clip(result, 0.0, 1.0, out=result)
    return result


@lru_cache(maxsize=4096)
def quantile(level: float, k: int, df: float) -> float:
    """q(level; k, df): the value that the studentized range stays below with probability `level`.

    Args:
        level: between 0 and 1.
        k: how many means, >= 2.
        df: degrees of freedom, >= 1.

    Returns:
        The quantile, to some 9 digits. It depends on these three alone, so it is computed once and kept.

    Raises:
        ValueError: an argument is out of range.
    """
    _check(k, df)
    if not 0.0 < level < 1.0:
        raise ValueError(f"level: expected a number between 0 and 1 · got {level}")
    low, high = 0.0, 8.0
    while _excess(high, level, k, df) > 0.0:
        low, high = high, high * 2.0
        if high > 1e12:
            return float("inf")
    return _root(low, high, level, k, df)


def _excess(q: float, level: float, k: int, df: float) -> float:
    return float(upper_tail(q, k, df)[0]) - (1.0 - level)


def _root(low: float, high: float, level: float, k: int, df: float) -> float:
    """Where the falling function `_excess` crosses zero between `low` and `high` (regula falsi, Illinois variant).

    Source: Dowell and Jarratt, BIT 11 (1971). A root finder of its own because scipy.optimize takes 0.1 s to import.
    """
    above, below = _excess(low, level, k, df), _excess(high, level, k, df)
    kept = 0
    middle = high
    for _ in range(100):
        middle = (low * below - high * above) / (below - above) if below != above else (low + high) / 2
        value = _excess(middle, level, k, df)
        if abs(value) < 1e-14 or high - low < 1e-12 * high:
            break
        if value > 0:
            low, above = middle, value
            below, kept = (below / 2 if kept == 1 else below), 1
        else:
            high, below = middle, value
            above, kept = (above / 2 if kept == -1 else above), -1
    return middle


def _check(k: int, df: float) -> None:
    if k < 2 or not df >= 1:
        raise ValueError(f"studentized range: expected k >= 2 and df >= 1 · got k={k}, df={df}")


@lru_cache(maxsize=1024)
def _scale_rule(df: float) -> tuple[Floats, Floats]:
    """Nodes and weights for s = sqrt(chi²(df)/df), density included; the weights sum to 1."""
    # The standard deviation of s is close to 1/sqrt(2 df).
    low = max(0.0, 1.0 - 9.0 / float(np.sqrt(2.0 * df)))
    high = float(np.sqrt(chdtri(df, _TAIL) / df))
    u, weight = _legendre(next(nodes for below, nodes in _OUTER if df < below), 0.0, 1.0)
    # With few degrees of freedom the far tail comes from s near 0: nodes are crowded there.
    power = 5 if df < _OUTER[0][0] else 1
    s = low + (high - low) * u**power
    weight = weight * (high - low) * power * u ** (power - 1)
    log_density = np.log(2.0) + df / 2 * np.log(df / 2) - gammaln(df / 2) + xlogy(df - 1, s) - df * s * s / 2
    weight = weight * np.exp(log_density)
    return s, weight / weight.sum()


@lru_cache(maxsize=256)
def _normal_rule(k: int) -> tuple[Floats, Floats]:
    z, weight = _legendre(next(nodes for upto, nodes in _INNER if k <= upto), -_NORMAL_EDGE, _NORMAL_EDGE)
    return z, k * weight * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)


@lru_cache(maxsize=256)
def _legendre(count: int, low: float, high: float) -> tuple[Floats, Floats]:
    node, weight = np.polynomial.legendre.leggauss(count)
    half = (high - low) / 2
    return low + half * (node + 1.0), half * weight
