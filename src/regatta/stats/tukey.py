"""Tukey's honestly significant differences: intervals of all pairs that hold together at one level."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from regatta.stats.anova import Anova
from regatta.stats.estimate import NAN, Interval, check_level, undefined
from regatta.stats.studentized_range import quantile, upper_tail

TUKEY = "tukey"


@dataclass(frozen=True)
class PairDifference:
    """Alternatives `first` and `second` (columns of the fit) and effect first - effect second, simultaneous for all pairs."""

    first: int
    second: int
    difference: Interval
    p: float


def tukey(fit: Anova, level: float = 0.95) -> tuple[PairDifference, ...]:
    """All pairwise differences of a fitted model, with simultaneous intervals and adjusted p values.

    Args:
        fit: from `one_way` or `block_anova`, with k alternatives of which m have values.
        level: confidence that all intervals hold together, between 0 and 1.

    Returns:
        k (k - 1) / 2 pairs (i < j) in the order (0, 1), (0, 2) ..., in the unit of the values:
        d_ij ± q(level; m, df_error) · √(MSE · v_ij / 2), v_ij the variance of the difference for unit variance
        (1/n_i + 1/n_j without blocks). Exact for balanced data, conservative otherwise (Tukey and Kramer). Pairs that
        cannot be estimated are NaN with a reason.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Tukey (1953); Kramer, Biometrics 12 (1956); Hayter, Annals of Statistics 12 (1984) for the proof that it is conservative.
    """
    check_level(level)
    first, second = np.triu_indices(len(fit.effects), 1)
    difference = fit.effects[first] - fit.effects[second]
    variance = np.diag(fit.spread)[first] + np.diag(fit.spread)[second] - 2.0 * fit.spread[first, second]
    known = fit.linked[first, second] & ~np.isnan(difference)
    usable = known & (not fit.reason)
    half = np.full(len(first), np.nan)
    p = np.full(len(first), np.nan)
    if usable.any():
        alternatives = int(np.diag(fit.linked).sum())
        error = np.sqrt(fit.mean_square_error * np.maximum(variance[usable], 0.0) / 2.0)
        half[usable] = quantile(level, alternatives, float(fit.df_error)) * error
        p[usable] = upper_tail(np.abs(difference[usable]) / error, alternatives, float(fit.df_error))
    pairs = []
    for index, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        n = int(fit.counts[i, j])
        if usable[index]:
            middle, width = float(difference[index]), float(half[index])
            interval = Interval(n, middle, middle - width, middle + width, level, TUKEY)
        else:
            reason = fit.reason or why_not(fit, i, j)
            interval = undefined(n, level, TUKEY, reason, float(difference[index]) if known[index] else NAN)
        pairs.append(PairDifference(i, j, interval, float(p[index]) if usable[index] else NAN))
    return tuple(pairs)


def why_not(fit: Anova, i: int, j: int) -> str:
    """Why the difference of alternatives i and j cannot be estimated."""
    if math.isnan(fit.effects[i]) or math.isnan(fit.effects[j]):
        return "one side has no values"
    return "no chain of common blocks ties the two together"
