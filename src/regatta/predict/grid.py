"""Predict many applications on many systems at once, with the results of `predict`, by matrix products.

A cost is linear in its coefficients (costs.py). So the times of all applications on all systems are one product: the factors
of each application times the coefficients of each system. The squared errors of the coefficients are computed in the same
way. The error of a count is multiplied by the cost of its entry, whose square is a sum over pairs of coefficients: also a
product. Costs of each shape (the grid of a table, the breaks of pieces) have separate columns.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regatta.predict.costs import arguments_of_count, coefficients, weights_of_count
from regatta.predict.prediction import check_units, common_level, predict
from regatta.predict.sums import NS
from regatta.spec.vectors import (
    ApplicationVector,
    ConstantCost,
    Cost,
    Count,
    LinearCost,
    PiecewiseCost,
    SystemVector,
    TableCost,
    Value,
)

Matrix = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Whole = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Truth = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True)
class PredictionGrid:
    """Predicted times in ns with intervals: one row per application, one column per system; NaN where a cost is missing."""

    applications: tuple[str, ...]
    systems: tuple[str, ...]
    level: float
    value: Matrix
    low: Matrix
    high: Matrix


@dataclass
class _Family:
    """The costs of one primitive with one shape, which share columns."""

    #: of its first coefficient
    column: int
    #: one of them, for the weights
    cost: Cost


class _Cells:
    """The nonzero cells of a matrix in any order; values at the same place are added."""

    def __init__(self) -> None:
        self.parts: list[tuple[Whole, Whole, list[Matrix]]] = []

    def put(self, rows: Whole, columns: Whole, *values: Matrix) -> None:
        """Add many cells, of one or several matrices with the same places."""
        self.parts.append((rows, columns, list(values)))

    def matrix(self, which: int, height: int, width: int) -> Matrix:
        """Return one of the values as a full matrix."""
        if not self.parts:
            return np.zeros((height, width))
        places = np.concatenate([rows * width + columns for rows, columns, _ in self.parts])
        values = np.concatenate([values[which] for _, _, values in self.parts])
        # Without any place, numpy returns integers despite the weights.
        return np.bincount(places, values, height * width).astype(float).reshape(height, width)


class _Systems:
    """The coefficients of all systems: one row per system, one column per coefficient of a primitive's costs of one shape."""

    def __init__(self, systems: Sequence[SystemVector]) -> None:
        #: primitive -> shape -> family
        self.families: dict[str, dict[Any, _Family]] = {}
        self.width = 0
        #: per system the first columns of its costs, which identify its primitives
        self.columns: list[set[int]] = []
        rows: list[int] = []
        columns: list[int] = []
        numbers: list[Value] = []
        factors: list[float] = []
        for system in systems:
            first = len(numbers)
            held = set()
            for name, primitive in system.primitives.items():
                cost = primitive.cost
                column = self._family(name, cost).column
                held.add(column)
                if type(cost) is ConstantCost:
                    columns.append(column)
                    numbers.append(cost.cost)
                else:
                    more = coefficients(cost)
                    columns.extend(range(column, column + len(more)))
                    numbers.extend(more)
            rows.append(len(numbers) - first)
            factors.append(NS[system.time_unit])
            self.columns.append(held)
        row = np.repeat(np.arange(len(systems)), rows)
        values = _values(numbers)
        cells = _Cells()
        cells.put(row, np.array(columns, dtype=np.int64), *(side * np.array(factors)[row] for side in values))
        self.value, self.below, self.above = (cells.matrix(i, len(systems), self.width) for i in range(3))

    def _family(self, name: str, cost: Cost) -> _Family:
        shapes = self.families.get(name)
        if shapes is None:
            shapes = self.families[name] = {}
        shape = () if type(cost) is ConstantCost else _shape(cost)
        family = shapes.get(shape)
        if family is None:
            family = shapes[shape] = _Family(self.width, cost)
            self.width += len(coefficients(cost))
        return family


def _shape(cost: Cost) -> Any:
    if isinstance(cost, ConstantCost):
        return ()
    if isinstance(cost, LinearCost):
        return cost.argument
    if isinstance(cost, PiecewiseCost):
        return (cost.argument, cost.breaks)
    return (cost.arguments, cost.outside, tuple(point.at for point in cost.points))


def _values(numbers: Sequence[Value]) -> tuple[Matrix, Matrix, Matrix]:
    """Return values, and the lengths of their intervals below and above."""
    value = np.array([number.value for number in numbers], dtype=float)
    low = np.array([number.low for number in numbers], dtype=float)
    high = np.array([number.high for number in numbers], dtype=float)
    return value, value - low, high - value


class _Applications:
    """Factors of the applications for coefficients and for pairs of coefficients."""

    def __init__(self, applications: Sequence[ApplicationVector], systems: _Systems) -> None:
        #: count x weight of each coefficient; and whether it is used at all, since its count may be 0 with an error
        self.counted = _Cells()
        #: squared errors of the counts below and above by pairs of coefficients, and where they are unknown
        self.errors = _Cells()
        #: (first column, second column) -> column of `errors`
        self.pairs: dict[tuple[int, int], int] = {}
        #: primitive -> applications that count it
        self.needed: dict[str, set[int]] = {}
        #: (application, system) with a cost below 0, perhaps by rounding only: `predict` decides
        self.crossed: set[tuple[int, int]] = set()
        counts: list[Count] = []
        rows: list[int] = []
        for row, application in enumerate(applications):
            for count in application.counts:
                number = count.count
                if number.value == 0.0 == number.low == number.high:
                    continue
                counts.append(count)
                rows.append(row)
        self._owners = [application.name for application in applications]
        for name, places in _by_primitive(counts).items():
            at = np.array([rows[place] for place in places], dtype=np.int64)
            self.needed[name] = set(at.tolist())
            of_name = [counts[place] for place in places]
            sides = _values([count.count for count in of_name])
            for family in systems.families.get(name, {}).values():
                owners = [self._owners[row] for row in at] if _asks(family.cost) else []
                weights = _weights(family.cost, of_name, owners)
                self._take(at, sides, family.column, weights)
                self._find_crossed(at, of_name, family, weights, systems)

    def _take(
        self, rows: Whole, sides: tuple[Matrix, Matrix, Matrix], column: int, weights: dict[int, Matrix]
    ) -> None:
        value, below, above = sides
        known = np.isfinite(below), np.isfinite(above)
        squares = [np.where(ok, side, 0.0) ** 2 for ok, side in zip(known, (below, above), strict=True)]
        unknown = [(~ok).astype(float) for ok in known]
        uncertain = ~((below == 0.0) & (above == 0.0))
        numbers = sorted(weights)
        for at, i in enumerate(numbers):
            used = (weights[i] != 0.0).astype(float)
            self.counted.put(rows, np.full(len(rows), column + i), value * weights[i], used)
            if not uncertain.any():
                continue
            for j in numbers[at:]:
                both = weights[i] * weights[j] * (1.0 if i == j else 2.0)
                kept = uncertain & (both != 0.0)
                pair = self.pairs.setdefault((column + i, column + j), len(self.pairs))
                parts = [(both * part)[kept] for part in (*squares, *unknown)]
                self.errors.put(rows[kept], np.full(int(kept.sum()), pair), *parts)

    def _find_crossed(
        self,
        rows: Whole,
        counts: Sequence[Count],
        family: _Family,
        weights: dict[int, Matrix],
        systems: _Systems,
    ) -> None:
        """Find pairs where a line falls below 0, or continues below 0 beyond its table, at any of a count's arguments."""
        values = {i: _finite(systems.value[:, family.column + i]) for i in weights}
        if _may_hide(family.cost, counts) or any((values[i] < 0.0).any() for i in weights):
            # The mean of a distribution may be above 0 though one of its parts is not.
            parts = [
                (row, Count(count.primitive, count.count, arguments))
                for row, count in zip(rows.tolist(), counts, strict=True)
                for arguments in arguments_of_count(count)
            ]
            rows = np.array([row for row, _ in parts], dtype=np.int64)
            counts = [count for _, count in parts]
            weights = _weights(family.cost, counts, [self._owners[row] for row in rows])
        if not any((weights[i] < 0.0).any() or (values[i] < 0.0).any() for i in weights):
            return
        costs = np.zeros((len(rows), len(systems.columns)))
        for i, weight in weights.items():
            costs += np.outer(weight, values[i])
        entries, at = np.nonzero(costs < 0.0)
        self.crossed.update(zip(rows[entries].tolist(), at.tolist(), strict=True))


def _by_primitive(counts: Sequence[Count]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for place, count in enumerate(counts):
        found[count.primitive].append(place)
    return found


def _asks(cost: Cost) -> bool:
    return type(cost) is not ConstantCost


def _may_hide(cost: Cost, counts: Sequence[Count]) -> bool:
    """Return whether a part of a distribution may subtract a coefficient and so cost less than 0, which the mean hides."""
    if not _asks(cost) or not any(count.distribution for count in counts):
        return False
    beyond = isinstance(cost, TableCost) and cost.outside == "extend"
    parts = (part for count in counts for part in count.distribution)
    return beyond or any(value < 0.0 for part in parts for value in part.arguments.values())


def _weights(cost: Cost, counts: Sequence[Count], owners: Sequence[str]) -> dict[int, Matrix]:
    """Return coefficient -> its weight in each of the counts."""
    plain = not any(count.distribution for count in counts)
    if plain and isinstance(cost, ConstantCost):
        return {0: np.ones(len(counts))}
    if plain and isinstance(cost, LinearCost):
        name = cost.argument
        at = np.array([count.arguments.get(name, math.nan) for count in counts], dtype=float)
        if np.isfinite(at).all():
            return {0: np.ones(len(counts)), 1: at}
    found: dict[int, Matrix] = {}
    for place, count in enumerate(counts):
        where = f"application {owners[place]}, primitive {count.primitive}" if owners else ""
        for number, weight in weights_of_count(cost, count, where):
            found.setdefault(number, np.zeros(len(counts)))[place] = weight
    return found


def predict_many(
    applications: Sequence[ApplicationVector], systems: Sequence[SystemVector]
) -> PredictionGrid:
    """Predict every application on every system.

    Args:
        applications: A of them.
        systems: S of them.

    Returns:
        times of shape [A, S], equal to those of `predict` except for rounding.

    Raises:
        RegattaError: an error of `predict` for any of the pairs, including a cost below 0.
    """
    level = common_level(*applications, *systems) if applications or systems else math.nan
    check_units(applications, systems)
    names = tuple(one.name for one in applications), tuple(one.name for one in systems)
    held = _Systems(systems)
    asked = _Applications(applications, held)
    value, low, high = _products(asked, held, len(applications), len(systems))
    for a, s in sorted(asked.crossed):
        time = predict(applications[a], systems[s]).time
        value[a, s], low[a, s], high[a, s] = time.value, time.low, time.high
    _lack(asked, held, (value, low, high))
    return PredictionGrid(*names, level, value, low, high)


def _products(asked: _Applications, held: _Systems, height: int, width: int) -> tuple[Matrix, Matrix, Matrix]:
    counted = asked.counted.matrix(0, height, held.width)
    values = _finite(held.value)
    value = counted @ values.T
    # Where a coefficient is subtracted, as beyond a table, its upper error makes the result smaller.
    added, taken = np.maximum(counted, 0.0) ** 2, np.minimum(counted, 0.0) ** 2
    sides = (held.below, held.above), (held.above, held.below)
    down, up = (added @ (_finite(one) ** 2).T + taken @ (_finite(other) ** 2).T for one, other in sides)
    if not np.isfinite(held.value).all():
        _spoil(value, asked.counted.matrix(1, height, held.width), ~np.isfinite(held.value))
    for found, (one, other) in zip((down, up), sides, strict=True):
        _spoil(found, added, ~np.isfinite(one))
        _spoil(found, taken, ~np.isfinite(other))
    if asked.pairs:
        first, second = (np.array(side) for side in zip(*asked.pairs, strict=True))
        products = (values[:, first] * values[:, second]).T
        below, above, no_low, no_high = (
            asked.errors.matrix(which, height, len(asked.pairs)) for which in range(4)
        )
        for side, errors, unknown in ((down, below, no_low), (up, above, no_high)):
            side += errors @ products
            if unknown.any():
                side[unknown @ products > 0.0] = np.nan
    # Rounding may make a square negative.
    low, high = value - np.sqrt(np.maximum(down, 0.0)), value + np.sqrt(np.maximum(up, 0.0))
    return value, np.where(low < 0.0, np.minimum(value, 0.0), low), high


def _finite(matrix: Matrix) -> Matrix:
    return np.where(np.isfinite(matrix), matrix, 0.0)


def _spoil(found: Matrix, used: Matrix, undefined: Truth) -> None:
    """Set NaN where an application uses an undefined number of a system."""
    if undefined.any():
        found[(used != 0.0).astype(float) @ undefined.T.astype(float) > 0.0] = np.nan


def _lack(asked: _Applications, held: _Systems, found: tuple[Matrix, Matrix, Matrix]) -> None:
    """Set NaN where a system has no cost for a primitive that an application counts."""
    for name, applications in asked.needed.items():
        columns = {family.column for family in held.families.get(name, {}).values()}
        lacking = [at for at, has in enumerate(held.columns) if has.isdisjoint(columns)]
        if lacking:
            for matrix in found:
                matrix[np.ix_(sorted(applications), lacking)] = np.nan
