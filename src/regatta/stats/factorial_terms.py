"""Sums of squares of the terms of a factorial model, from the means and counts of its cells.

A term is a tuple of factor numbers. Contrasts are orthonormal and sum to zero in every factor, so that the columns of a balanced
design are orthogonal; sums of squares depend on the spaces that columns span, not on the choice of contrasts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regatta.stats.estimate import Floats

#: A column shorter than this beside what it was before projection lies in the space of the others.
_DEPENDENT = 1e-9
#: numbers in a design matrix, some 800 MB: more is not tried
_LARGEST_DESIGN = 10**8


class Unfittable(Exception):
    """The model cannot be fitted; the text says why."""


@dataclass(frozen=True)
class Fitted:
    """Of each term its sum of squares and degrees of freedom; of the model what cell means it leaves over.

    `df_model`: degrees of freedom of all terms together. `residual`: sum of squares between cells that the model does not explain.
    `all_cells`: does every cell hold values?
    """

    ss: list[float]
    df: list[int]
    df_model: int
    residual: float
    all_cells: bool


def balanced(means: Floats, count: float, terms: Sequence[tuple[int, ...]]) -> Fitted:
    """Every cell holds `count` values: by sums over groups.

    Args:
        means: one axis for each factor.
        count: values a cell.
        terms: of the model.

    Source: Searle, "Linear Models for Unbalanced Data", section 4.10 (the types coincide for balanced data): the effect of a term
    is the table averaged over the factors it has not, less the averages over each factor it has.
    """
    ss, df = [], []
    left = means - means.mean()
    for term in terms:
        effect = means
        for factor in range(means.ndim):
            average = effect.mean(axis=factor, keepdims=True)
            effect = effect - average if factor in term else average
        repeated = means.size // effect.size
        ss.append(count * repeated * float((effect**2).sum()))
        df.append(math.prod(means.shape[factor] - 1 for factor in term))
        left = left - effect
    return Fitted(ss, df, sum(df), count * float((left**2).sum()), True)


def sequential(
    means: Floats,
    counts: Floats,
    levels: NDArray[np.intp],
    sizes: Sequence[int],
    terms: Sequence[tuple[int, ...]],
) -> Fitted:
    """Type I: each term after those before it.

    Args:
        means: shape (cells,), of the cells that hold values, around the grand mean.
        counts: shape (cells,), values in each.
        levels: shape (cells, factors).
        sizes: levels of each factor.
        terms: of the model, each after those that it contains.

    Raises:
        Unfittable: the model is too large.
    """
    design = _Design(means, counts, levels, sizes, terms)
    ss, df, space = [], [], design.constant
    for term in terms:
        gained, rank, space = design.gain(space, term)
        ss.append(gained)
        df.append(rank)
    return design.fitted(ss, df, space)


def partial(
    means: Floats,
    counts: Floats,
    levels: NDArray[np.intp],
    sizes: Sequence[int],
    terms: Sequence[tuple[int, ...]],
) -> Fitted:
    """Type II: each term after all that do not contain it. Arguments and errors as of `sequential`."""
    design = _Design(means, counts, levels, sizes, terms)
    ss, df, space = [], [], design.constant
    for term in terms:
        space = design.constant
        for other in terms:
            if not set(term) <= set(other):
                space = design.gain(space, other)[2]
        gained, rank, space = design.gain(space, term)
        ss.append(gained)
        df.append(rank)
    # The last term is contained in no other, so that the last space is that of the whole model.
    return design.fitted(ss, df, space)


def marginal(
    means: Floats,
    counts: Floats,
    levels: NDArray[np.intp],
    sizes: Sequence[int],
    terms: Sequence[tuple[int, ...]],
) -> Fitted:
    """Type III: each term after all others. Arguments and errors as of `sequential`.

    By the normal equations of contrasts: SS = b' V^-1 b, where b are the coefficients of the term and V their covariance for unit
    variance of the error.
    """
    design = _Design(means, counts, levels, sizes, terms)
    blocks = [design.columns(term) for term in terms]
    matrix = np.column_stack([design.constant, *blocks])
    parameters = matrix.shape[1]
    missing = math.prod(sizes) - means.size
    aliased = Unfittable(
        f"type 3 needs what empty cells do not give ({missing} of {math.prod(sizes)} are empty): take type 2"
        if missing
        else "the factors cannot be told from each other: take type 2"
    )
    if parameters > means.size:
        raise aliased
    triangle: Floats = np.asarray(np.linalg.qr(np.column_stack([matrix, design.values]), mode="r"))
    diagonal = np.abs(np.diag(triangle)[:parameters])
    if float(diagonal.min()) < _DEPENDENT * float(np.sqrt((matrix**2).sum(axis=0)).max()):
        raise aliased
    inverse = np.linalg.inv(triangle[:parameters, :parameters])
    coefficients = inverse @ triangle[:parameters, parameters]
    ss, start = [], 1
    for block in blocks:
        rows = slice(start, start := start + block.shape[1])
        covariance = inverse[rows] @ inverse[rows].T
        ss.append(float(coefficients[rows] @ np.linalg.solve(covariance, coefficients[rows])))
    residual = 0.0 if parameters == means.size else float((triangle[parameters:, parameters] ** 2).sum())
    return Fitted(ss, [block.shape[1] for block in blocks], parameters - 1, residual, not missing)


class _Design:
    """Cell means and columns of the model, every row times the root of its count, so that plain least squares is weighted."""

    def __init__(
        self,
        means: Floats,
        counts: Floats,
        levels: NDArray[np.intp],
        sizes: Sequence[int],
        terms: Sequence[tuple[int, ...]],
    ) -> None:
        self._root = np.sqrt(counts)
        self._all_cells = means.size == math.prod(sizes)
        self._everything = tuple(range(len(sizes)))
        contrasts = [_contrasts(size) for size in sizes]
        self._contrasts = [contrasts[factor][levels[:, factor]] for factor in self._everything]
        #: shape (cells,)
        self.values = self._root * means
        #: shape (cells, 1): the grand mean's column, of length 1
        self.constant = (self._root / math.sqrt(counts.sum()))[:, None]
        parameters = sum(math.prod(sizes[factor] - 1 for factor in term) for term in terms)
        if parameters * means.size > _LARGEST_DESIGN:
            raise Unfittable(
                f"too large: {means.size} cells that hold unequally many values, {parameters} parameters; take a lower order"
            )

    def columns(self, term: tuple[int, ...]) -> Floats:
        """Shape (cells, df): products of the contrasts of the term's factors."""
        block: Floats = self._root[:, None]
        for factor in term:
            block = (block[:, :, None] * self._contrasts[factor][:, None, :]).reshape(len(block), -1)
        return block

    def gain(self, space: Floats, term: tuple[int, ...]) -> tuple[float, int, Floats]:
        """What a term explains beyond `space` (orthonormal columns), in how many dimensions, and the space with it."""
        if term == self._everything:
            # All factors together give every cell a mean of its own: nothing is left.
            left = _beside(self.values[:, None], space)
            return float((left**2).sum()), self.values.size - space.shape[1], np.empty((self.values.size, 0))
        block = self.columns(term)
        basis = _orthonormal(block, space)
        explained = basis.T @ self.values
        return float(explained @ explained), basis.shape[1], np.column_stack([space, basis])

    def fitted(self, ss: list[float], df: list[int], space: Floats) -> Fitted:
        """The answer of a model whose columns span `space` (no column: every cell)."""
        if not space.shape[1]:
            return Fitted(ss, df, self.values.size - 1, 0.0, self._all_cells)
        left = _beside(self.values[:, None], space)
        return Fitted(ss, df, space.shape[1] - 1, float((left**2).sum()), self._all_cells)


def _orthonormal(block: Floats, space: Floats) -> Floats:
    """Orthonormal columns for what `block` adds to `space`; as many as it has dimensions there."""
    if not block.shape[1]:
        return block
    longest = float(np.sqrt((block**2).sum(axis=0)).max())
    beside = _beside(block, space)
    basis, triangle = np.linalg.qr(beside)
    diagonal = np.abs(np.diag(triangle))
    if block.shape[1] > block.shape[0] - space.shape[1] or float(diagonal.min()) <= 1e-6 * longest:
        # Some columns depend on others: how many dimensions there are, singular values tell safely.
        left, size, _ = np.linalg.svd(beside, full_matrices=False)
        basis = left[:, size > _DEPENDENT * longest]
    return _beside(basis, space) if basis.shape[1] else basis


def _beside(columns: Floats, space: Floats) -> Floats:
    """What of `columns` is orthogonal to `space`; twice, because once leaves rounding."""
    columns = columns - space @ (space.T @ columns)
    result: Floats = columns - space @ (space.T @ columns)
    return result


def _contrasts(size: int) -> Floats:
    """Shape (size, size - 1): orthonormal columns that sum to zero (Helmert's), times the root of `size`."""
    contrasts = np.zeros((size, max(size - 1, 0)))
    for column in range(size - 1):
        below = column + 1
        contrasts[:below, column] = 1.0
        contrasts[below, column] = -below
        contrasts[:, column] *= math.sqrt(size / (below * (below + 1)))
    return contrasts
