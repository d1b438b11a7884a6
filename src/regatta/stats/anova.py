"""Analysis of variance with one factor of interest, with or without blocks, and what Tukey's intervals need of it.

Values are taken as they are: who compares ratios passes logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from regatta.stats.estimate import NAN, Floats, only_rounding

BLOCKED = "block-anova"
BLOCKED_LEAST_SQUARES = "block-anova-ls"
ONE_WAY = "anova"


@dataclass(frozen=True)
class Anova:
    """A fitted model of k alternatives.

    `effects`: shape (k,), estimated means up to a common constant, unit of the values; NaN where an alternative has no values.
    `spread`: shape (k, k), a generalised inverse: the variance of effect i - effect j is
    `mean_square_error * (spread[i, i] + spread[j, j] - 2 spread[i, j])`.
    `linked`: shape (k, k) of bool: can i and j be compared at all? `counts`: shape (k, k), how many values (diagonal)
    or common blocks (elsewhere; without blocks: values of both) a comparison rests on.
    `f`, `p`, `mean_square_error` are NaN when undefined, and `reason` says why.
    """

    method: str
    effects: Floats
    spread: Floats
    linked: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    between: float
    error: float
    df_between: int
    df_error: int
    f: float
    p: float
    mean_square_error: float
    reason: str = ""


def one_way(groups: Sequence[ArrayLike]) -> Anova:
    """One-way analysis of variance of k independent groups.

    Args:
        groups: k arrays of shape (n_i,), same unit. Empty groups take no part.

    Returns:
        F = (SSA / (k - 1)) / (SSE / (N - k)) and its p value. NaN with a reason with fewer than two groups,
        without error degrees of freedom, or when no group has any spread.

    Source: Georges et al. (OOPSLA 2007), section 3.3.3; Neter, Wasserman and Kutner, "Applied Linear Statistical Models".
    """
    arrays = [np.asarray(group, dtype=np.float64).ravel() for group in groups]
    sizes = np.array([x.size for x in arrays], dtype=np.int64)
    k = len(arrays)
    present = sizes > 0
    linked = np.logical_and.outer(present, present)
    counts = np.add.outer(sizes, sizes)
    np.fill_diagonal(counts, sizes)
    every = np.concatenate(arrays) if k else np.empty(0)
    if not np.isfinite(every).all():
        return _unknown(ONE_WAY, k, linked, counts, "a value is not a finite number")
    if int(present.sum()) < 2:
        return _unknown(ONE_WAY, k, linked, counts, "fewer than two alternatives have values")
    # Around the grand mean first: leading digits in common would otherwise eat the squares (NIST SmLs07 to 09).
    origin = float(every.mean())
    centred = [x - origin for x in arrays]
    effects = np.array([float(x.mean()) if x.size else NAN for x in centred])
    grand = float((every - origin).mean())
    between = float((sizes[present] * (effects[present] - grand) ** 2).sum())
    error = float(sum(((x - x.mean()) ** 2).sum() for x in centred if x.size))
    spread = np.diag(np.where(present, 1.0 / np.maximum(sizes, 1), np.nan))
    df_between, df_error = int(present.sum()) - 1, int(sizes.sum() - present.sum())
    largest = float(np.abs(every).max())
    return _finished(ONE_WAY, effects, spread, linked, counts, between, error, df_between, df_error, largest)


def block_anova(table: ArrayLike) -> Anova:
    """Two-way analysis of variance, block + alternative, of a randomised block design.

    Args:
        table: shape (blocks, k): row = block, column = alternative, same unit; NaN where the value is missing.

    Returns:
        The F test of the alternatives after blocks. Complete tables by sums of squares (method `block-anova`):
        SSA = b Σ (mean_j - mean)², SSE = Σ (y_ij - mean_i - mean_j + mean)², df (k - 1) and (b - 1)(k - 1).
        With missing cells by least squares, blocks eliminated (`block-anova-ls`). NaN with a reason when fewer than two
        alternatives can be compared within blocks, without error degrees of freedom, or without spread.

    Raises:
        ValueError: `table` has not two dimensions.

    Source: Box, Hunter and Hunter, "Statistics for Experimenters", chapter 4; the intrablock analysis (reduced normal
    equations C τ = Q): John and Williams, "Cyclic and Computer Generated Designs", chapter 1.
    """
    y = np.asarray(table, dtype=np.float64)
    if y.ndim != 2:
        raise ValueError(f"block table: expected shape (blocks, alternatives) · got {y.shape}")
    k = y.shape[1]
    seen = ~np.isnan(y)
    if np.isinf(y).any():
        return _unknown(BLOCKED, k, np.zeros((k, k), bool), _common(seen), "a value is not a finite number")
    # A block with one value says nothing of differences.
    useful = seen.sum(axis=1) >= 2
    y, seen = y[useful], seen[useful]
    counts, blocks = _common(seen), int(useful.sum())
    linked = _linked(counts)
    if not blocks:
        return _unknown(BLOCKED, k, linked, counts, "no block holds two alternatives")
    # Every value around its block's mean; twice, so that leading digits in common do not matter.
    deviation = y - np.nanmean(y, axis=1, keepdims=True)
    deviation -= np.nanmean(deviation, axis=1, keepdims=True)
    largest = float(np.nanmax(np.abs(y)))
    if seen.all():
        effects = deviation.mean(axis=0)
        effects -= effects.mean()
        between = blocks * float(effects @ effects)
        error = float(((deviation - effects) ** 2).sum())
        spread = np.eye(k) / blocks
        df_between, df_error = k - 1, (blocks - 1) * (k - 1)
        method = BLOCKED
    else:
        effects, spread, between, error = _least_squares(deviation, seen)
        df_between = _rank(linked)
        df_error = int(seen.sum()) - blocks - df_between
        method = BLOCKED_LEAST_SQUARES
    return _finished(method, effects, spread, linked, counts, between, error, df_between, df_error, largest)


def _least_squares(
    deviation: Floats, seen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> tuple[Floats, Floats, float, float]:
    """Effects, generalised inverse, sums of squares between and of error, for values around their block's mean."""
    weight = seen.astype(np.float64)
    per_block = weight.sum(axis=1, keepdims=True)
    values = np.where(seen, deviation, 0.0)
    information = np.diag(weight.sum(axis=0)) - weight.T @ (weight / per_block)
    spread = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
    effects = spread @ values.sum(axis=0)
    fitted = np.where(seen, effects - (weight @ effects)[:, None] / per_block.ravel()[:, None], 0.0)
    between, error = float((fitted**2).sum()), float(((values - fitted) ** 2).sum())
    effects[~seen.any(axis=0)] = NAN
    return effects, spread, between, error


def _common(
    seen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """In how many blocks two alternatives stand together; the diagonal counts the values."""
    number = seen.astype(np.int64)
    result: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = number.T @ number
    return result


def _linked(
    counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which alternatives are tied by a chain of common blocks."""
    reach = counts > 0
    while True:
        further = (reach.astype(np.int64) @ reach.astype(np.int64)) > 0
        if (further == reach).all():
            return reach
        reach = further


def _rank(linked: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int:
    """Independent contrasts: alternatives with values less the groups that are tied together."""
    present = np.diag(linked)
    groups = {tuple(row) for row in linked[present].tolist()}
    return int(present.sum()) - len(groups)


def _finished(
    method: str,
    effects: Floats,
    spread: Floats,
    linked: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    between: float,
    error: float,
    df_between: int,
    df_error: int,
    largest: float,
) -> Anova:
    f, p, mean_square, reason = NAN, NAN, NAN, ""
    if df_between < 1:
        reason = "fewer than two alternatives have values in common blocks"
    elif df_error < 1:
        reason = "too few values: no degrees of freedom are left for the error"
    elif only_rounding(math.sqrt(error / df_error), largest):
        reason = "the values do not vary within alternatives, so their spread is unknown"
    else:
        mean_square = error / df_error
        f = between / df_between / mean_square
        p = float(fdtrc(df_between, df_error, f))
    return Anova(
        method,
        effects,
        spread,
        linked,
        counts,
        between,
        error,
        df_between,
        max(df_error, 0),
        f,
        p,
        mean_square,
        reason,
    )


def _unknown(
    method: str,
    k: int,
    linked: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    reason: str,
) -> Anova:
    nothing = np.full(k, np.nan)
    return Anova(method, nothing, np.diag(nothing), linked, counts, NAN, NAN, 0, 0, NAN, NAN, NAN, reason)
