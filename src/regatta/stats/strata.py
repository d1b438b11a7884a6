"""Analysis of variance of crossed factors in nested blocks: each term is tested against the units in which it varies.

Values of one block share what happened to the block, so they are not independent. A factor that is constant in every block is
tested against blocks, a factor that varies in blocks is tested within blocks, and an interaction is tested in the finest stratum
in which it varies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import fdtrc

from regatta.stats.estimate import NAN, Floats, only_rounding
from regatta.stats.factorial import (
    FactorialAnova,
    FactorialRow,
    Term,
    cells_of,
    check_factors,
    factorial_anova,
    term_name,
    terms_of,
    unscaled,
)
from regatta.stats.factorial_terms import DEPENDENT, columns_of, orthonormal

Integers = NDArray[np.intp]

STRATA = "strata-anova"
STRATA_METHODS = {kind: f"{STRATA}-type-{kind}" for kind in (1, 2, 3)}
BALANCED_STRATA = f"{STRATA}-balanced"

#: the only stratum of values that share no units
VALUES = "independent values"
#: With fewer degrees of freedom per group of cells (complete units: 1 less than units), equal variances are assumed, because the
#: correction for bias divides by this number minus 1.
_LEAST_DF = 1.5
#: Maximum numbers in a design matrix (800 MB).
_MOST_NUMBERS = 10**8
#: Combinations in one group of shared units. The time grows with their cube: so many take some seconds and 100 MB.
_MOST_LINKED = 1500


@dataclass(frozen=True)
class StrataRow:
    """One row of the table: a factor ("a") or an interaction ("a:b").

    `stratum`: where the term is tested, such as `within blocks`. `df`, `df_error`: degrees of freedom if all variances are equal.
    `df_approx`, `df_error_approx`: those that the estimated variances leave, used for `p`. `ss`: sum of squares in the stratum,
    unit of the values squared; `ms` = `ss` / `df`; `ms_error`: mean square of the error of this term. `f` = `ms` / `ms_error`.
    `eta2_partial` = SS / (SS + MSE df_error); `omega2_partial` = df (F - 1) / (df (F - 1) + N) with N units of the stratum, is less
    biased and can be negative. NaN when undefined, with `reason`; `note` qualifies a defined number.
    """

    source: str
    stratum: str
    df: int
    df_error: float
    ss: float
    ms: float
    ms_error: float
    f: float
    df_approx: float
    df_error_approx: float
    p: float
    eta2_partial: float
    omega2_partial: float
    reason: str = ""
    note: str = ""


@dataclass(frozen=True)
class Stratum:
    """The error of one stratum: its name, number of units, degrees of freedom and sum of squares (values squared)."""

    name: str
    units: int
    df_error: int
    ss_error: float


@dataclass(frozen=True)
class StrataAnova:
    """The table. `kind` is 1, 2 or 3. `n` counts values. `reason`: why no row has an F, else ""."""

    kind: int
    rows: tuple[StrataRow, ...]
    strata: tuple[Stratum, ...]
    n: int
    method: str
    reason: str = ""


def strata_anova(
    values: ArrayLike,
    factors: Sequence[tuple[str, ArrayLike]],
    units: Sequence[tuple[str, ArrayLike]],
    kind: int = 2,
    order: int | None = None,
) -> StrataAnova:
    """Return the analysis of variance of crossed fixed factors in nested random units, such as blocks in rounds.

    Args:
        values: shape (n,), any unit; logarithms to compare ratios.
        factors: name and codes of each, codes of shape (n,), whole numbers; equal codes are one level.
        units: name (plural) and codes of each kind of unit, from the smallest to the largest, codes of shape (n,). Each unit lies in
            one unit of the next kind. Cells that share a unit need not have all their values: the analysis is by least squares.
        kind: type of the sums of squares, as in `factorial_anova`, within each stratum.
        order: number of factors in the highest interaction; None: all factors, 1: no interactions.

    Returns:
        One row per term: factors in the given order, then interactions of two, of three ... Strata are `within` the smallest
        units and `between` units of each kind, inside one unit of the next kind. A term is tested in the first stratum in which it
        varies. Its error is the
        interaction of its own contrasts with the units, with the variances and covariances estimated in each group of cells that
        share units: levels may vary unequally. F has the numerator and denominator degrees of freedom of Box's approximation,
        from unbiased estimates. With fewer than three units per group, variances are assumed equal. If units are complete and
        variances are equal, F is that of the split-plot analysis. NaN with a reason if undefined.

    Raises:
        ValueError: no factors or units, duplicate names, different lengths, units that are not nested, or an invalid `kind` or `order`.

    Source: Box, Annals of Mathematical Statistics 25 (1954), theorems 3.1 and 6.1; Huynh and Feldt, Journal of Educational
    Statistics 1 (1976), and Brunner, Bathke and Placzek, Biometrical Journal 54 (2012), for unbiased estimates; the intrablock
    analysis: John and Williams, "Cyclic and Computer Generated Designs", chapter 1.
    """
    y = np.asarray(values, dtype=np.float64)
    check_factors(y, factors, kind, order)
    names = [name for name, _ in factors]
    terms = terms_of(len(names), order or len(names))
    if not y.size:
        return _undefined(kind, names, terms, 0, "no values")
    parents = _nested(y, units)
    largest = float(np.abs(y).max())
    if not math.isfinite(largest):
        return _undefined(kind, names, terms, y.size, "a value is not a finite number")
    # Scaling by a power of two is exact; centering twice avoids cancellation of common leading digits.
    exponent = math.frexp(largest)[1]
    y = np.ldexp(y, -exponent)
    y = y - y.mean()
    y -= y.mean()
    cells = cells_of([np.asarray(codes) for _, codes in factors])
    empty = math.prod(cells.sizes) - len(cells.levels)
    if kind == 3 and empty and len(terms[-1]) == len(names):
        reason = f"type 3 requires nonempty cells ({empty} of {math.prod(cells.sizes)} are empty): use type 2"
        return _undefined(kind, names, terms, y.size, reason)
    if len(cells.levels) * sum(_width(term, cells.sizes) for term in terms) > _MOST_NUMBERS:
        return _undefined(kind, names, terms, y.size, "too many combinations; use a lower order")
    rows: dict[Term, StrataRow] = {}
    strata: list[Stratum] = []
    cell, levels, usable = cells.of_value, cells.levels, list(range(len(names)))
    is_balanced = True
    labels = [f"within {units[0][0]}"] + [f"between {name}" for name, _ in units]
    for label, parent in zip(labels, [*parents, None], strict=True):
        of_cell = _group_of(cell, parent)
        most = int(np.bincount(of_cell).max())
        if most > _MOST_LINKED:
            reason = f"{most:,} combinations share units; at most {_MOST_LINKED:,} are analyzed together"
            return _undefined(kind, names, terms, len(cells.of_value), reason)
        groups = _groups(y, cell, parent, of_cell)
        # Sums of squares are those of values, not of means of units.
        weight = len(cells.of_value) / y.size
        own = [term for term in terms if set(term) <= set(usable)]
        level = _Level(label, groups, levels, cells.sizes, y.size, weight, parent is None)
        found, orthogonal = level.rows(own, kind, names, largest * 2.0**-exponent, exponent)
        is_balanced &= orthogonal
        for term, row in found.items():
            rows.setdefault(term, row)
        strata.append(level.stratum(exponent))
        if parent is None:
            break
        y, cell, levels, usable = _upward(y, groups, of_cell, cell, parent, levels, usable)
    every = tuple(
        rows.get(term) or _nothing(term_name(term, names), _why_not(term, names, cells.sizes, empty))
        for term in terms
    )
    reasons = {row.reason for row in every}
    reason = reasons.pop() if len(reasons) == 1 else ""
    used = tuple(stratum for stratum in strata if any(row.stratum == stratum.name for row in every))
    return StrataAnova(
        kind,
        every,
        used,
        len(cells.of_value),
        BALANCED_STRATA if is_balanced else STRATA_METHODS[kind],
        reason,
    )


@dataclass(frozen=True)
class _Group:
    """Cells that are linked by shared units.

    `cells`: shape (k,), numbers. `effects`: shape (k,), estimated up to a constant, with sum 0 if units are shared. `root`: shape
    (k, k), symmetric; the whitened effects are `root @ effects`, with covariance `covariance` and `nu` degrees of freedom. `df`: of
    `ss`, the sum of squares of the errors. `units`: number of rows; `complete`: every unit holds all cells.
    """

    cells: Integers
    effects: Floats
    root: Floats
    covariance: Floats
    nu: float
    df: int
    ss: float
    units: int
    complete: bool


def _group_of(cell: Integers, parent: Integers | None) -> Integers:
    """Return the group of each cell: cells that share units, directly or by others, are one group; without units, each is one."""
    count = int(cell.max()) + 1
    if parent is None:
        return np.arange(count)
    # Imported here, because it takes longer than a small analysis without units.
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    links = coo_matrix(
        (np.ones(cell.size), (cell, count + parent)), shape=(count + int(parent.max()) + 1,) * 2
    )
    of_cell: Integers = connected_components(links, directed=False)[1][:count].astype(np.intp)
    return of_cell


def _groups(y: Floats, cell: Integers, parent: Integers | None, of_cell: Integers) -> list[_Group]:
    if parent is None:
        return [_independent(number, y[cell == number]) for number in of_cell.tolist()]
    return [
        _linked(np.flatnonzero(of_cell == number), y, cell, parent, elements)
        for number, elements in enumerate(_members(of_cell[cell]))
    ]


def _members(group: Integers) -> list[Integers]:
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def _independent(number: int, y: Floats) -> _Group:
    ss = float(((y - y.mean()) ** 2).sum())
    n = len(y)
    variance = np.full((1, 1), ss / (n - 1) if n > 1 else NAN)
    root = np.full((1, 1), math.sqrt(n))
    return _Group(np.array([number]), y.mean(keepdims=True), root, variance, n - 1, n - 1, ss, n, True)


def _linked(cells: Integers, y: Floats, cell: Integers, parent: Integers, elements: Integers) -> _Group:
    """Estimate effects within units by least squares (the intrablock analysis), and the covariance of what remains."""
    _, row = np.unique(parent[elements], return_inverse=True)
    column = np.searchsorted(cells, cell[elements])
    shape = int(row.max()) + 1, len(cells)
    place = row * shape[1] + column
    times = np.bincount(place, minlength=math.prod(shape))
    # A cell that occurs several times in one unit counts there by its mean.
    table = np.bincount(place, weights=y[elements], minlength=math.prod(shape)) / np.maximum(times, 1)
    weight = (times > 0).reshape(shape).astype(np.float64)
    table = table.reshape(shape)
    per_unit = weight.sum(axis=1, keepdims=True)
    deviation = weight * (table - (weight * table).sum(axis=1, keepdims=True) / per_unit)
    information = np.diag(weight.sum(axis=0)) - weight.T @ (weight / per_unit)
    size, axes = np.linalg.eigh(information)
    kept = size > DEPENDENT * shape[0]
    rank = int(kept.sum())
    root = (axes[:, kept] * np.sqrt(size[kept])) @ axes[:, kept].T
    effects = (axes[:, kept] / size[kept]) @ (axes[:, kept].T @ deviation.sum(axis=0))
    errors = weight * (deviation - effects + (weight @ effects)[:, None] / per_unit)
    ss = float((errors**2).sum())
    df = int(weight.sum()) - shape[0] - rank
    nu = df / rank if rank else 0.0
    informative = weight[per_unit.ravel() > 1].sum(axis=0)
    covariance = np.zeros((len(cells),) * 2)
    if df > 0:
        # Missing values have no errors: scale by the number of values, then to the unbiased total.
        scale = 1.0 / np.sqrt(np.maximum(informative, 1.0))
        covariance = (errors * scale).T @ (errors * scale)
        covariance *= ss / nu / max(float(np.trace(covariance)), np.finfo(np.float64).tiny)
    return _Group(cells, effects, root, covariance, nu, df, ss, shape[0], bool(weight.all()))


def _upward(
    y: Floats,
    groups: Sequence[_Group],
    of_cell: Integers,
    cell: Integers,
    parent: Integers,
    levels: Integers,
    usable: Sequence[int],
) -> tuple[Floats, Integers, Integers, list[int]]:
    """Return the elements of the next level: the mean of each unit, as if it had all its cells, and its group as a cell.

    The levels of a group are those of its first cell, in the factors that are constant within all groups.
    """
    effects = np.zeros(len(levels))
    for group in groups:
        effects[group.cells] = group.effects
    means = np.bincount(parent, weights=y - effects[cell]) / np.bincount(parent)
    of_unit = np.zeros(means.size, dtype=np.intp)
    of_unit[parent] = of_cell[cell]
    constant = [
        factor
        for factor in usable
        if all((levels[group.cells, factor] == levels[group.cells[0], factor]).all() for group in groups)
    ]
    return means, of_unit, levels[[group.cells[0] for group in groups]], constant


class _Level:
    """The terms of one stratum, in the space of whitened cell means."""

    def __init__(
        self,
        name: str,
        groups: Sequence[_Group],
        levels: Integers,
        sizes: Sequence[int],
        elements: int,
        weight: float,
        between: bool,
    ) -> None:
        self._name, self._levels, self._sizes = name, levels, sizes
        self._elements, self._weight = elements, weight
        self._df, self._ss = sum(group.df for group in groups), math.fsum(group.ss for group in groups)
        largest = max(float(group.root.max()) for group in groups)
        #: Length that the columns have before whitening, at most.
        self._scale = largest * math.sqrt(len(levels))
        self._equal = (
            len({(group.units, len(group.cells)) for group in groups if len(group.cells) > 1 or between}) == 1
        )
        self._equal &= all(group.complete for group in groups)
        self._groups = [group for group in groups if between or len(group.cells) > 1]
        # A covariance with few degrees of freedom is too uncertain.
        self._pooled = any(group.nu < _LEAST_DF for group in self._groups)
        self._values = self._whitened(self._spread([group.effects for group in groups], groups)[:, None])[
            :, 0
        ]
        ones = self._whitened(np.ones((len(levels), 1)))
        self._constant = ones / np.linalg.norm(ones) if between else ones[:, :0]

    def _spread(self, parts: Sequence[Floats], groups: Sequence[_Group]) -> Floats:
        result = np.zeros(len(self._levels))
        for part, group in zip(parts, groups, strict=True):
            result[group.cells] = part
        return result

    def _whitened(self, columns: Floats) -> Floats:
        result = np.zeros_like(columns)
        for group in self._groups:
            result[group.cells] = group.root @ columns[group.cells]
        return result

    def stratum(self, exponent: int) -> Stratum:
        """Return the error of the stratum."""
        return Stratum(self._name, self._elements, self._df, unscaled(self._weight * self._ss, exponent))

    def rows(
        self, terms: Sequence[Term], kind: int, names: Sequence[str], largest: float, exponent: int
    ) -> tuple[dict[Term, StrataRow], bool]:
        """Return the rows of the terms that vary in this stratum, and whether the terms are orthogonal."""
        columns = {}
        for term in terms:
            block = self._whitened(columns_of(np.ones(len(self._levels)), self._levels, self._sizes, term))
            if block.size and float(np.sqrt((block**2).sum(axis=0)).max()) > DEPENDENT * self._scale:
                columns[term] = block
        if not columns:
            return {}, True
        bases = self._orthogonal(columns)
        if bases is None:
            spaces, problem = self._bases(columns, kind)
        else:
            spaces, problem = bases, ""
        if not problem and self._df < 1:
            problem = f"too few {self._name.partition(' ')[2]}: no degrees of freedom are left for the error"
        elif not problem and only_rounding(math.sqrt(self._ss / self._df), largest):
            problem = "the values do not vary within alternatives, so the variance is unknown"
        found = {
            term: self._row(term_name(term, names), basis, _width(term, self._sizes), problem, exponent)
            for term, basis in spaces.items()
            if basis.shape[1]
        }
        return found, bases is not None

    def _orthogonal(self, columns: dict[Term, Floats]) -> dict[Term, Floats] | None:
        """Return orthonormal columns of all terms if the design is orthogonal; all types of sums of squares are then equal."""
        if not self._equal:
            return None
        every = np.column_stack([self._constant, *columns.values()])
        lengths = np.sqrt((every**2).sum(axis=0))
        if lengths.min() <= DEPENDENT * self._scale or every.shape[1] > every.shape[0]:
            return None
        every /= lengths
        product = every.T @ every
        product[np.diag_indices_from(product)] -= 1.0
        if float(np.abs(product).max()) > DEPENDENT:
            return None
        ends = np.cumsum([self._constant.shape[1], *(block.shape[1] for block in columns.values())])
        return {term: every[:, start:end] for term, start, end in zip(columns, ends, ends[1:], strict=False)}

    def _bases(self, columns: dict[Term, Floats], kind: int) -> tuple[dict[Term, Floats], str]:
        """Return the orthonormal columns that each term adds to the preceding, not containing, or all other terms."""
        result = {}
        space = self._constant
        for term in columns:
            if kind != 1:
                others = [
                    other for other in columns if other != term and (kind == 3 or not set(term) <= set(other))
                ]
                space = self._constant
                for other in others:
                    space = np.column_stack([space, orthonormal(columns[other], space)])
            basis = orthonormal(columns[term], space)
            result[term] = basis
            space = np.column_stack([space, basis])
        aliased = kind == 3 and any(result[term].shape[1] < columns[term].shape[1] for term in columns)
        return result, "the factors are not identifiable: use type 2" if aliased else ""

    def _row(self, source: str, basis: Floats, nominal: int, problem: str, exponent: int) -> StrataRow:
        df = basis.shape[1]
        explained = basis.T @ self._values
        ss = float(explained @ explained)
        given = unscaled(self._weight * ss, exponent)
        if problem:
            return replace(_nothing(source, problem), stratum=self._name, df=df, ss=given, ms=given / df)
        mean_square, df_error, approx, error_approx = self._error(basis)
        f = ss / df / mean_square
        excess = df * (f - 1.0)
        notes = [f"{df} of {nominal} degrees of freedom: cells are empty"] if df < nominal else []
        if self._pooled:
            notes.append("equal variances assumed")
        return StrataRow(
            source,
            self._name,
            df,
            df_error,
            given,
            given / df,
            unscaled(self._weight * mean_square, exponent),
            f,
            approx,
            error_approx,
            float(fdtrc(approx, error_approx, f)),
            ss / (ss + mean_square * df_error),
            excess / (excess + self._elements),
            "",
            "; ".join(notes),
        )

    def _error(self, basis: Floats) -> tuple[float, float, float, float]:
        """Return mean square and df of the error of a term if variances are equal, and the approximate df of both.

        The term's sum of squares has the mean Σ tr(A_g S_g) over groups, with A_g its projection on the cells of group g and S_g
        their covariance. Products of one group's estimates with themselves are corrected for bias.
        """
        df = basis.shape[1]
        if self._pooled:
            return self._ss / self._df, float(self._df), float(df), float(self._df)
        traces, squares, fairs, crosses, spheres = ([] for _ in range(5))
        weighted = np.zeros_like(basis)
        for group in self._groups:
            part = basis[group.cells]
            weighted[group.cells] = group.covariance @ part
            projection = part @ part.T
            spheres.append(float((projection**2).sum()) / group.nu)
            product = group.covariance @ projection
            trace, square, nu = float(np.trace(product)), float((product * product.T).sum()), group.nu
            common = nu / ((nu - 1.0) * (nu + 2.0))
            traces.append(trace)
            squares.append(square)
            fairs.append(nu * common * (square - trace**2 / nu))
            crosses.append((nu + 1.0) * common * (trace**2 - 2.0 * square / (nu + 1.0)))
        total = math.fsum(traces)
        naive = float(((basis.T @ weighted) ** 2).sum())
        squared = total**2 - sum(t**2 for t in traces) + math.fsum(crosses)
        spread = naive - math.fsum(squares) + math.fsum(fairs)
        of_error = math.fsum(fair / group.nu for fair, group in zip(fairs, self._groups, strict=True))
        df_error = _whole(df**2 / math.fsum(spheres))
        least = min(df_error, *(group.nu for group in self._groups))
        return (
            total / df,
            df_error,
            _between(1.0, squared / spread if spread > 0 else df, float(df)),
            _between(least, squared / of_error if of_error > 0 else df_error, df_error),
        )


def _whole(x: float) -> float:
    """Remove the rounding error of a whole number."""
    return float(round(x)) if math.isclose(x, round(x), rel_tol=1e-9) else x


def _between(low: float, x: float, high: float) -> float:
    return min(max(low, x), high)


def _nested(y: Floats, units: Sequence[tuple[str, ArrayLike]]) -> list[Integers]:
    """Return the parent of each element on every level: the smallest unit of each value, the next unit of each of those, ..."""
    if not units or any(np.shape(codes) != y.shape for _, codes in units):
        raise ValueError(f"units: expected at least one, codes of shape {y.shape}")
    parents: list[Integers] = []
    below, first = np.arange(y.size), np.arange(y.size)
    for name, codes in units:
        _, start, number = np.unique(np.asarray(codes), return_index=True, return_inverse=True)
        parent = number[first]
        if not (parent[below] == number).all():
            raise ValueError(f"units: expected each smaller unit in one of the {name}")
        parents.append(parent)
        below, first = number, start
    return parents


def _width(term: Term, sizes: Sequence[int]) -> int:
    return math.prod(sizes[factor] - 1 for factor in term)


def _why_not(term: Term, names: Sequence[str], sizes: Sequence[int], empty: int) -> str:
    alone = [names[factor] for factor in term if sizes[factor] < 2]
    if alone:
        return f"only one level of {alone[0]}"
    return "not identifiable from the other terms" + (": cells are empty" if empty else "")


def _nothing(source: str, reason: str) -> StrataRow:
    return StrataRow(source, "", 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, reason)


def _undefined(kind: int, names: Sequence[str], terms: Sequence[Term], n: int, reason: str) -> StrataAnova:
    rows = tuple(_nothing(term_name(term, names), reason) for term in terms)
    return StrataAnova(kind, rows, (), n, STRATA_METHODS[kind], reason)


def independent_anova(
    values: ArrayLike, factors: Sequence[tuple[str, ArrayLike]], kind: int = 2, order: int | None = None
) -> StrataAnova:
    """Return `factorial_anova` as a table with one stratum: the values are independent and have equal variances.

    Arguments, results and errors are those of `factorial_anova`. Interactions above `order` are part of the error.
    """
    fit = factorial_anova(values, factors, kind, order)
    rows = tuple(_of_values(row, fit) for row in fit.rows)
    strata = (Stratum(VALUES, fit.n, fit.df_error, fit.ss_error),) if fit.df_error else ()
    return StrataAnova(kind, rows, strata, fit.n, fit.method, fit.reason)


def _of_values(row: FactorialRow, fit: FactorialAnova) -> StrataRow:
    known = not row.reason
    df_error = float(fit.df_error) if known else NAN
    return StrataRow(
        row.source,
        VALUES if row.df else "",
        row.df,
        df_error,
        row.ss,
        row.ms,
        fit.ss_error / fit.df_error if known else NAN,
        row.f,
        float(row.df) if known else NAN,
        df_error,
        row.p,
        row.eta2_partial,
        row.omega2_partial,
        row.reason,
        row.note,
    )
