"""Analysis of variance with one factor of interest, with or without blocks, as input for Tukey's intervals.

Values are not transformed. To compare ratios, pass logarithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import fdtrc

from regatta.stats.estimate import NAN, ROUNDING_ULPS, Floats

Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]

BLOCKED = "block-anova"
BLOCKED_LEAST_SQUARES = "block-anova-ls"
ONE_WAY = "anova"


@dataclass(frozen=True)
class Anova:
    """A fitted model of k alternatives.

    `effects`: shape (k,), estimated means up to a common constant, unit of the values; NaN for an alternative without values.
    `spread`: shape (k, k), a generalized inverse: the variance of effect i - effect j is
    `mean_square_error * (spread[i, i] + spread[j, j] - 2 spread[i, j])`.
    `linked`: shape (k, k) of bool: whether i and j can be compared. `counts`: shape (k, k), number of values (diagonal) or of
    common blocks (off the diagonal; without blocks: values of both). `f`, `p`, `mean_square_error` are NaN when undefined;
    `reason` holds the reason.
    """

    method: str
    effects: Floats
    spread: Floats
    linked: Bools
    counts: Integers
    between: float
    error: float
    df_between: int
    df_error: int
    f: float
    p: float
    mean_square_error: float
    reason: str = ""


def one_way(groups: Sequence[ArrayLike]) -> Anova:
    """Return the one-way analysis of variance of k independent groups.

    Args:
        groups: k arrays of shape (n_i,), same unit. Empty groups are ignored.

    Returns:
        F = (SSA / (k - 1)) / (SSE / (N - k)) and its p value. NaN with a reason with fewer than two groups, without error
        degrees of freedom, or if no group has any spread.

    Source: Georges et al. (OOPSLA 2007), section 3.4; Neter, Wasserman and Kutner, "Applied Linear Statistical Models".
    """
    arrays = [np.asarray(group, dtype=np.float64).ravel() for group in groups]
    longest = max((x.size for x in arrays), default=0)
    values = np.zeros((1, longest, len(arrays)))
    seen = np.zeros((longest, len(arrays)), dtype=bool)
    for column, x in enumerate(arrays):
        values[0, : x.size, column] = x
        seen[: x.size, column] = True
    return _one_way(values, seen)[0]


def one_way_many(tables: ArrayLike) -> list[Anova]:
    """Return `one_way` of many families at once, each with k groups of n values.

    Args:
        tables: shape (families, n, k), same unit within a family; a column is a group.

    Returns:
        One `Anova` per family, as from `one_way`.

    Raises:
        ValueError: `tables` does not have three dimensions.
    """
    values = _three(tables)
    return _one_way(values, np.ones(values.shape[1:], dtype=bool)) if len(values) else []


def _one_way(values: Floats, seen: Bools) -> list[Anova]:
    """Analyze families of shape (families, n, k). Values exist where `seen`, shape (n, k), is true."""
    k = seen.shape[1]
    sizes = seen.sum(axis=0)
    present = sizes > 0
    linked = np.logical_and.outer(present, present)
    counts = np.add.outer(sizes, sizes)
    np.fill_diagonal(counts, sizes)
    finite: list[bool] = np.asarray(np.isfinite(values).all(axis=(1, 2))).tolist()
    unknown = ["" if each else "a value is not a finite number" for each in finite]
    if int(present.sum()) < 2:
        unknown = [why or "fewer than two alternatives have values" for why in unknown]
        return [_unknown(ONE_WAY, k, linked, counts, why) for why in unknown]
    y = values[finite]
    # Subtract the grand mean first: otherwise common leading digits cancel in the squares (NIST SmLs07 to 09).
    n = int(sizes.sum())
    centred = np.where(seen, y - (y.sum(axis=(1, 2)) / n)[:, None, None], 0.0)
    effects = centred.sum(axis=1) / np.where(present, sizes, 1)
    grand = (centred.sum(axis=(1, 2)) / n)[:, None]
    between = (sizes * (effects - grand) ** 2).sum(axis=1)
    error = (np.where(seen, centred - effects[:, None, :], 0.0) ** 2).sum(axis=(1, 2))
    effects[:, ~present] = NAN
    spread = np.diag(np.where(present, 1.0 / np.maximum(sizes, 1), np.nan))
    design = _Design(ONE_WAY, spread, linked, counts, int(present.sum()) - 1, n - int(present.sum()))
    fitted = iter(_finished(design, effects, between, error, np.abs(y).max(axis=(1, 2))))
    return [_unknown(ONE_WAY, k, linked, counts, why) if why else next(fitted) for why in unknown]


def block_anova(table: ArrayLike) -> Anova:
    """Return the two-way analysis of variance, block + alternative, of a randomized block design.

    Args:
        table: shape (blocks, k): row = block, column = alternative, same unit; NaN for a missing value.

    Returns:
        The F test of the alternatives after blocks. Complete tables by sums of squares (method `block-anova`):
        SSA = b Σ (mean_j - mean)², SSE = Σ (y_ij - mean_i - mean_j + mean)², df (k - 1) and (b - 1)(k - 1).
        With missing cells by least squares, blocks eliminated (`block-anova-ls`). NaN with a reason if fewer than two
        alternatives can be compared within blocks, without error degrees of freedom, or without spread.

    Raises:
        ValueError: `table` does not have two dimensions.

    Source: Box, Hunter and Hunter, "Statistics for Experimenters", chapter 4; the intrablock analysis (reduced normal equations
    C τ = Q): John and Williams, "Cyclic and Computer Generated Designs", chapter 1.
    """
    y = np.asarray(table, dtype=np.float64)
    if y.ndim != 2:
        raise ValueError(f"block table: expected shape (blocks, alternatives) · got {y.shape}")
    k = y.shape[1]
    seen = ~np.isnan(y)
    if np.isinf(y).any():
        return _unknown(BLOCKED, k, np.zeros((k, k), bool), _common(seen), "a value is not a finite number")
    # A block with one value has no information about differences.
    useful = seen.sum(axis=1) >= 2
    y, seen = y[useful], seen[useful]
    if seen.size and seen.all():
        return _complete(y[None])[0]
    counts, blocks = _common(seen), int(useful.sum())
    linked = _linked(counts)
    if not blocks:
        return _unknown(BLOCKED, k, linked, counts, "no block holds two alternatives")
    # Center values on their block mean. A second pass removes the rounding error of common leading digits.
    deviation = y - np.nanmean(y, axis=1, keepdims=True)
    deviation -= np.nanmean(deviation, axis=1, keepdims=True)
    largest = float(np.nanmax(np.abs(y)))
    effects, spread, between, error = _least_squares(deviation, seen)
    df_between = _rank(linked)
    df_error = int(seen.sum()) - blocks - df_between
    design = _Design(BLOCKED_LEAST_SQUARES, spread, linked, counts, df_between, df_error)
    return _finished(design, effects[None], np.array([between]), np.array([error]), np.array([largest]))[0]


def block_anova_many(tables: ArrayLike) -> list[Anova]:
    """Return `block_anova` of many families at once, all with the same number of blocks and alternatives.

    Args:
        tables: shape (families, blocks, k), same unit within a family; NaN for a missing value.

    Returns:
        One `Anova` per family, as from `block_anova`.

    Raises:
        ValueError: `tables` does not have three dimensions.
    """
    y = _three(tables)
    blocks, k = y.shape[1:]
    whole = np.isfinite(y).all(axis=(1, 2)) & (blocks > 0) & (k > 1)
    fitted = iter(_complete(y[whole])) if whole.any() else iter(())
    return [next(fitted) if complete else block_anova(y[i]) for i, complete in enumerate(whole.tolist())]


def _complete(y: Floats) -> list[Anova]:
    """Analyze families of shape (families, blocks, k), without missing values; blocks >= 1, k >= 2."""
    blocks, k = y.shape[1:]
    # Center values on their block mean. A second pass removes the rounding error of common leading digits.
    deviation = y - y.mean(axis=2, keepdims=True)
    deviation -= deviation.mean(axis=2, keepdims=True)
    effects = deviation.mean(axis=1)
    effects -= effects.mean(axis=1, keepdims=True)
    between = blocks * (effects**2).sum(axis=1)
    error = ((deviation - effects[:, None, :]) ** 2).sum(axis=(1, 2))
    everything = np.ones((k, k), dtype=bool)
    counts = np.full((k, k), blocks, dtype=np.int64)
    design = _Design(BLOCKED, np.eye(k) / blocks, everything, counts, k - 1, (blocks - 1) * (k - 1))
    return _finished(design, effects, between, error, np.abs(y).max(axis=(1, 2)))


def _least_squares(deviation: Floats, seen: Bools) -> tuple[Floats, Floats, float, float]:
    """Return effects, generalized inverse, and sums of squares (between, error) of values centered on their block mean."""
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


def _three(tables: ArrayLike) -> Floats:
    y = np.asarray(tables, dtype=np.float64)
    if y.ndim != 3:
        raise ValueError(f"tables of many families: expected three dimensions · got shape {y.shape}")
    return y


def _common(seen: Bools) -> Integers:
    """Return the number of blocks that two alternatives share. The diagonal counts the values."""
    number = seen.astype(np.int64)
    result: Integers = number.T @ number
    return result


def _linked(counts: Integers) -> Bools:
    """Return which alternatives are connected by a chain of common blocks."""
    reach = counts > 0
    while True:
        further = (reach.astype(np.int64) @ reach.astype(np.int64)) > 0
        if (further == reach).all():
            return reach
        reach = further


def _rank(linked: Bools) -> int:
    """Return the number of independent contrasts: alternatives with values minus connected groups."""
    present = np.diag(linked)
    groups = {tuple(row) for row in linked[present].tolist()}
    return int(present.sum()) - len(groups)


@dataclass(frozen=True)
class _Design:
    """The properties that families of one shape share; see `Anova`."""

    method: str
    spread: Floats
    linked: Bools
    counts: Integers
    df_between: int
    df_error: int


def _finished(
    design: _Design, effects: Floats, between: Floats, error: Floats, largest: Floats
) -> list[Anova]:
    """Return the tests of families of one design. `effects` has shape (families, k); the others have shape (families,)."""
    df_between, df_error = design.df_between, design.df_error
    nothing = np.full(len(between), NAN)
    f, p, mean_square = nothing, nothing, nothing
    reasons = [""] * len(between)
    if df_between < 1:
        reasons = ["fewer than two alternatives have values in common blocks"] * len(between)
    elif df_error < 1:
        reasons = ["too few values: no degrees of freedom are left for the error"] * len(between)
    else:
        deviation = np.sqrt(error / df_error)
        constant = deviation <= ROUNDING_ULPS * np.finfo(np.float64).eps * largest
        mean_square = np.where(constant, NAN, error / df_error)
        f = between / df_between / mean_square
        p = fdtrc(df_between, df_error, f)
        what = "the values do not vary within alternatives, so the variance is unknown"
        reasons = [what if one else "" for one in constant.tolist()]
    columns = (between.tolist(), error.tolist(), f.tolist(), p.tolist(), mean_square.tolist(), reasons)
    return [
        Anova(
            design.method,
            own,
            design.spread,
            design.linked,
            design.counts,
            b,
            e,
            df_between,
            max(df_error, 0),
            *tests,
        )
        for own, b, e, *tests in zip(effects, *columns, strict=True)
    ]


def _unknown(method: str, k: int, linked: Bools, counts: Integers, reason: str) -> Anova:
    nothing = np.full(k, np.nan)
    return Anova(method, nothing, np.diag(nothing), linked, counts, NAN, NAN, 0, 0, NAN, NAN, NAN, reason)
