"""Adjusted p values of multiple hypotheses: Holm for claims, Benjamini and Hochberg for exploration.

A p value of NaN (no test was possible) stays NaN and does not count as a hypothesis.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.estimate import Floats


def holm(p: ArrayLike) -> Floats:
    """Return adjusted p values that control the probability of any false claim, under any dependence.

    Args:
        p: shape (m,), 0 to 1, or NaN.

    Returns:
        Shape (m,): max over the i smallest of min(1, (m - j + 1) p_(j)), j = 1 ... i; in the order of `p`.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979).
    """
    values, known, order = _ranked(p)
    m = order.size
    steps = np.minimum(1.0, values[order] * np.arange(m, 0, -1))
    values[order] = np.maximum.accumulate(steps)
    return _placed(values, known)


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Return adjusted p values that control the false discovery rate, the expected share of false claims among all claims.

    Args:
        p: shape (m,), 0 to 1, or NaN. Independent, or positively dependent.

    Returns:
        Shape (m,): min over j >= i of min(1, m p_(j) / j), in the order of `p`.

    Source: Benjamini and Hochberg, Journal of the Royal Statistical Society B 57 (1995).
    """
    values, known, order = _ranked(p)
    m = order.size
    steps = np.minimum(1.0, values[order] * (m / np.arange(1, m + 1)))
    values[order] = np.minimum.accumulate(steps[::-1])[::-1]
    return _placed(values, known)


def _ranked(
    p: ArrayLike,
) -> tuple[
    Floats, np.ndarray[tuple[int, ...], np.dtype[np.bool_]], np.ndarray[tuple[int, ...], np.dtype[np.intp]]
]:
    """Return the known values, their positions, and their ascending order."""
    given = np.asarray(p, dtype=np.float64).ravel()
    known = ~np.isnan(given)
    values = given[known]
    return values, known, np.argsort(values, kind="stable")


def _placed(values: Floats, known: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
    result = np.full(known.shape, np.nan)
    result[known] = values
    return result


def sidak_level(level: float, m: int) -> float:
    """Return the confidence of each of m >= 1 single intervals that hold together with confidence `level`."""
    return float(level ** (1.0 / m))


def sidak_p(p: float, m: int) -> float:
    """Return 1 - (1 - p)^m: p of the smallest of m >= 1 independent tests; NaN stays NaN.

    Source: Sidak, Journal of the American Statistical Association 62 (1967).
    """
    return p if math.isnan(p) or p >= 1.0 else -math.expm1(m * math.log1p(-p))
