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

#: A column whose projection residual is below this share of its length lies in the space of the others.
DEPENDENT = 1e-9
#: Maximum numbers in a design matrix (800 MB) and multiplications to triangularize it (some seconds).
_MOST_NUMBERS, _MOST_WORK = 10**8, 5 * 10**10


class Unfittable(Exception):
    """The model cannot be fitted; the message has the reason."""


@dataclass(frozen=True)
class Fitted:
    """Sum of squares and degrees of freedom of each term, and the residual of the model.

    `df_model`: degrees of freedom of all terms together. `residual`: unexplained sum of squares between cells.
    `all_cells`: whether every cell has values.
    """

    ss: list[float]
    df: list[int]
    df_model: int
    residual: float
    all_cells: bool


def balanced(means: Floats, count: float, terms: Sequence[tuple[int, ...]]) -> Fitted:
    """Fit a model whose cells all have `count` values, by sums over groups.

    Args:
        means: one axis per factor.
        count: values per cell.
        terms: of the model.

    Source: Searle, "Linear Models for Unbalanced Data", section 4.10 (the types coincide for balanced data): the effect of a
    term is the table averaged over the factors not in the term, minus the averages over each factor in the term.
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
    """Fit type I: each term after the preceding ones.

    Args:
        means: shape (cells,), of the cells with values, centered on the grand mean.
        counts: shape (cells,), values in each cell.
        levels: shape (cells, factors).
        sizes: levels of each factor.
        terms: of the model, each after the terms that it contains.

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
    """Fit type II: each term after all terms that do not contain it. Arguments and errors as for `sequential`."""
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
    # No other term contains the last one, so the last space is that of the whole model.
    return design.fitted(ss, df, space)


def marginal(
    means: Floats,
    counts: Floats,
    levels: NDArray[np.intp],
    sizes: Sequence[int],
    terms: Sequence[tuple[int, ...]],
) -> Fitted:
    """Fit type III: each term after all others. Arguments and errors as for `sequential`.

    SS = b' V^-1 b, where b are the coefficients of the term's contrasts and V their covariance for unit variance of the error.
    """
    missing = math.prod(sizes) - means.size
    saturated = terms[-1] == tuple(range(len(sizes)))
    if missing and saturated:
        raise _aliased(missing, sizes)
    design = _Design(means, counts, levels, sizes, terms)
    if not saturated:
        return design.after_all_others(terms, _aliased(missing, sizes))
    # The model is saturated, so the contrasts of the means are the coefficients, without a system of equations.
    ss, df, space = [], [], design.constant
    for term in terms[:-1]:
        contrasts = columns_of(np.ones(means.size), levels, sizes, term)
        coefficients = contrasts.T @ means
        covariance = contrasts.T @ (contrasts / counts[:, None])
        ss.append(float(coefficients @ np.linalg.solve(covariance, coefficients)))
        df.append(contrasts.shape[1])
        space = design.gain(space, term)[2]
    gained, rank, space = design.gain(space, terms[-1])
    return design.fitted([*ss, gained], [*df, rank], space)


def _aliased(missing: int, sizes: Sequence[int]) -> Unfittable:
    if missing:
        cells = math.prod(sizes)
        return Unfittable(f"type 3 requires nonempty cells ({missing} of {cells} are empty): use type 2")
    return Unfittable("the factors are not identifiable: use type 2")


class _Design:
    """Columns of the model and cell means, with rows weighted by the root of their count, so that plain least squares apply.

    All are rotated once into the space that they span: as many rows as columns, with the same lengths and angles. Computations
    there are fast for any number of cells. The interaction of all factors has no columns: it is the residual of the others.
    """

    def __init__(
        self,
        means: Floats,
        counts: Floats,
        levels: NDArray[np.intp],
        sizes: Sequence[int],
        terms: Sequence[tuple[int, ...]],
    ) -> None:
        self._cells = means.size
        self._all_cells = means.size == math.prod(sizes)
        self._everything = tuple(range(len(sizes)))
        lower = [term for term in terms if term != self._everything]
        widths = [math.prod(sizes[factor] - 1 for factor in term) for term in lower]
        parameters = 1 + sum(widths)
        if parameters * means.size > _MOST_NUMBERS or parameters**2 * means.size > _MOST_WORK:
            raise Unfittable(
                f"too large: {means.size} cells with unequal numbers of values, {parameters} parameters; use a lower order"
            )
        root = np.sqrt(counts)
        columns = [columns_of(root, levels, sizes, term) for term in lower]
        turned = np.linalg.qr(
            np.column_stack([root / math.sqrt(counts.sum()), *columns, root * means]), mode="r"
        )
        self._turned: Floats = np.asarray(turned)
        ends = np.cumsum([1, *widths])
        self._blocks = {
            term: self._turned[:, start:end] for term, start, end in zip(lower, ends, ends[1:], strict=False)
        }
        #: Shape (rows, 1): the column of the grand mean, of length 1.
        self.constant = self._turned[:, :1]
        self._values = self._turned[:, -1]

    def gain(self, space: Floats, term: tuple[int, ...]) -> tuple[float, int, Floats]:
        """Return the sum of squares and the dimensions that a term adds to `space` (orthonormal columns), and the new space."""
        if term == self._everything:
            # All factors together give every cell its own mean, so no residual remains.
            left = _beside(self._values[:, None], space)
            return float((left**2).sum()), self._cells - space.shape[1], space[:, :0]
        basis = orthonormal(self._blocks[term], space)
        explained = basis.T @ self._values
        return float(explained @ explained), basis.shape[1], np.column_stack([space, basis])

    def fitted(self, ss: list[float], df: list[int], space: Floats) -> Fitted:
        """Return the fit of a model whose columns span `space` (no column: every cell)."""
        if not space.shape[1]:
            return Fitted(ss, df, self._cells - 1, 0.0, self._all_cells)
        left = _beside(self._values[:, None], space)
        return Fitted(ss, df, space.shape[1] - 1, float((left**2).sum()), self._all_cells)

    def after_all_others(self, terms: Sequence[tuple[int, ...]], aliased: Unfittable) -> Fitted:
        """Fit each term after all others, by the covariance of the coefficients.

        Raises:
            Unfittable: `aliased`, if columns depend on each other.
        """
        parameters = self._turned.shape[1] - 1
        square = self._turned[:parameters, :parameters]
        lengths = np.sqrt((square**2).sum(axis=0))
        if len(square) < parameters or float((np.abs(np.diag(square)) / lengths).min()) < DEPENDENT:
            raise aliased
        inverse = np.linalg.inv(square)
        coefficients = inverse @ self._values[:parameters]
        ss, df, start = [], [], 1
        for term in terms:
            width = self._blocks[term].shape[1]
            rows = slice(start, start + width)
            covariance = inverse[rows] @ inverse[rows].T
            ss.append(float(coefficients[rows] @ np.linalg.solve(covariance, coefficients[rows])))
            df.append(width)
            start += width
        residual = float((self._values[parameters:] ** 2).sum())
        return Fitted(ss, df, parameters - 1, residual, self._all_cells)


def columns_of(rows: Floats, levels: NDArray[np.intp], sizes: Sequence[int], term: tuple[int, ...]) -> Floats:
    """Return shape (cells, df): products of the contrasts of the term's factors, each row times its number in `rows`."""
    block: Floats = rows[:, None]
    for factor in term:
        contrasts = _contrasts(sizes[factor])[levels[:, factor]]
        block = (block[:, :, None] * contrasts[:, None, :]).reshape(len(block), -1)
    return block


def orthonormal(block: Floats, space: Floats) -> Floats:
    """Return orthonormal columns that `block` adds to `space`, one per added dimension."""
    if not block.shape[1]:
        return block
    longest = float(np.sqrt((block**2).sum(axis=0)).max())
    beside = _beside(block, space)
    basis, triangle = np.linalg.qr(beside)
    diagonal = np.abs(np.diag(triangle))
    if block.shape[1] > block.shape[0] - space.shape[1] or float(diagonal.min()) <= 1e-6 * longest:
        # Some columns depend on others. Singular values determine the number of dimensions reliably.
        left, size, _ = np.linalg.svd(beside, full_matrices=False)
        basis = left[:, size > DEPENDENT * longest]
    return _beside(basis, space) if basis.shape[1] else basis


def _beside(columns: Floats, space: Floats) -> Floats:
    """Return the part of `columns` that is orthogonal to `space`. A second projection removes the rounding of the first."""
    columns = columns - space @ (space.T @ columns)
    result: Floats = columns - space @ (space.T @ columns)
    return result


def _contrasts(size: int) -> Floats:
    """Return shape (size, size - 1): orthonormal columns that sum to zero (Helmert's), times the root of `size`."""
    contrasts = np.zeros((size, max(size - 1, 0)))
    for column in range(size - 1):
        below = column + 1
        contrasts[:below, column] = 1.0
        contrasts[below, column] = -below
        contrasts[:, column] *= math.sqrt(size / (below * (below + 1)))
    return contrasts
