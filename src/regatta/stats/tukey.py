"""Tukey's honestly significant differences: simultaneous intervals of all pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from regatta.stats.anova import ONE_WAY, Anova, Bools
from regatta.stats.estimate import NAN, Floats, Interval, check_level, undefined
from regatta.stats.studentized_range import quantile, upper_tail

Indices = NDArray[np.intp]

TUKEY = "tukey"


@dataclass(frozen=True)
class PairDifference:
    """Alternatives `first` and `second` (columns of the fit) and effect first - effect second, simultaneous for all pairs."""

    first: int
    second: int
    difference: Interval
    p: float


def tukey(fit: Anova, level: float = 0.95) -> tuple[PairDifference, ...]:
    """Return all pairwise differences of a fitted model, with simultaneous intervals and adjusted p values.

    Args:
        fit: from `one_way` or `block_anova`, with k alternatives of which m have values.
        level: simultaneous confidence of all intervals, between 0 and 1.

    Returns:
        k (k - 1) / 2 pairs (i < j) in the order (0, 1), (0, 2) ..., in the unit of the values:
        d_ij ± q(level; m, df_error) · √(MSE · v_ij / 2), v_ij the variance of the difference for unit variance
        (1/n_i + 1/n_j without blocks). Exact for balanced data, conservative otherwise (Tukey and Kramer). Pairs that
        cannot be estimated are NaN with a reason.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Tukey (1953); Kramer, Biometrics 12 (1956); Hayter, Annals of Statistics 12 (1984) for the proof that it is
    conservative.
    """
    return tukey_many([fit], level)[0]


def tukey_many(fits: Sequence[Anova], level: float = 0.95) -> list[tuple[PairDifference, ...]]:
    """Return `tukey` of many families at once. Families of one shape share one evaluation of p values.

    Args:
        fits: of any shapes.
        level: simultaneous confidence of the intervals of a family, between 0 and 1.

    Returns:
        The result of `tukey` for each family.

    Raises:
        ValueError: `level` is not between 0 and 1.
    """
    check_level(level)
    families = [_prepared(fit) for fit in fits]
    shapes: dict[tuple[int, int], list[_Family]] = {}
    for family in families:
        if family.usable.any():
            shapes.setdefault((int(np.diag(family.fit.linked).sum()), family.fit.df_error), []).append(family)
    for (alternatives, df), alike in shapes.items():
        q = quantile(level, alternatives, float(df))
        ranges = [np.abs(one.difference[one.usable]) / one.error for one in alike]
        tails = upper_tail(np.concatenate(ranges), alternatives, float(df))
        for one, p in zip(alike, np.split(tails, np.cumsum([x.size for x in ranges])[:-1]), strict=True):
            one.p[one.usable] = p
            one.half[one.usable] = q * one.error
    return [_pairs(family, level) for family in families]


@dataclass(frozen=True)
class _Family:
    """A fit and its pairs. `error`: of usable pairs. `half` (half-width) and `p` are filled in; NaN for unusable pairs."""

    fit: Anova
    first: Indices
    second: Indices
    difference: Floats
    known: Bools
    usable: Bools
    error: Floats
    half: Floats
    p: Floats


def _prepared(fit: Anova) -> _Family:
    first, second = _pairs_of(len(fit.effects))
    difference = fit.effects[first] - fit.effects[second]
    own = np.diag(fit.spread)
    variance = own[first] + own[second] - 2.0 * fit.spread[first, second]
    known = fit.linked[first, second] & ~np.isnan(difference)
    usable = known & (not fit.reason)
    error = np.sqrt(fit.mean_square_error * np.maximum(variance[usable], 0.0) / 2.0)
    nothing = np.full(len(first), np.nan)
    return _Family(fit, first, second, difference, known, usable, error, nothing, nothing.copy())


@lru_cache(maxsize=64)
def _pairs_of(k: int) -> tuple[Indices, Indices]:
    first, second = np.triu_indices(k, 1)
    return first, second


def _pairs(family: _Family, level: float) -> tuple[PairDifference, ...]:
    fit = family.fit
    columns = (
        family.first,
        family.second,
        family.difference,
        family.half,
        family.p,
        family.known,
        family.usable,
        fit.counts[family.first, family.second],
    )
    pairs = []
    for i, j, middle, half, p, known, usable, n in zip(*(one.tolist() for one in columns), strict=True):
        if usable:
            interval = Interval(n, middle, middle - half, middle + half, level, TUKEY)
        else:
            interval = undefined(n, level, TUKEY, fit.reason or why_not(fit, i, j), middle if known else NAN)
        pairs.append(PairDifference(i, j, interval, p))
    return tuple(pairs)


def why_not(fit: Anova, i: int, j: int) -> str:
    """Return why the difference of alternatives i and j cannot be estimated."""
    if math.isnan(fit.effects[i]) or math.isnan(fit.effects[j]):
        return (
            "one side has no values in common blocks" if fit.method != ONE_WAY else "one side has no values"
        )
    return "no chain of common blocks connects the two"
