"""Cost of a primitive at given arguments. Every cost is linear in its coefficients, though not always in its arguments.

Linearity lets the error of one coefficient, used with many arguments, move all of the costs together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from regatta.host.errors import RegattaError
from regatta.models.vectors.sums import Sum, positive, spread
from regatta.models.vectors.values import (
    ConstantCost,
    Cost,
    Count,
    LinearCost,
    PiecewiseCost,
    TableCost,
    Value,
)

#: relative to the terms of a cost: a sum below 0 by less is rounding, as where a line begins at 0
BELOW_ZERO = 1e-9

#: (index of the coefficient in `coefficients(cost)`, its factor)
Weights = Sequence[tuple[int, float]]


def coefficients(cost: Cost) -> Sequence[Value]:
    """Return the uncertain coefficients of a cost."""
    if isinstance(cost, ConstantCost):
        return (cost.cost,)
    if isinstance(cost, LinearCost):
        return (cost.fixed, cost.per)
    if isinstance(cost, TableCost):
        return [point.cost for point in cost.points]
    return [coefficient for piece in cost.pieces for coefficient in piece]


def arguments_of(cost: Cost) -> tuple[str, ...]:
    """Return the names of the arguments of a cost."""
    if isinstance(cost, ConstantCost):
        return ()
    return cost.arguments if isinstance(cost, TableCost) else (cost.argument,)


def weights(cost: Cost, arguments: Mapping[str, float], where: str = "") -> Weights:
    """Return the factor of each coefficient at these arguments, without coefficients that do not apply.

    Args:
        cost: of one operation.
        arguments: name to value; additional arguments are ignored.
        where: name of the cost's owner, for the message.

    Raises:
        RegattaError: an argument is missing or not finite.
    """
    if isinstance(cost, ConstantCost):
        return [(0, 1.0)]
    at = tuple(_argument(name, arguments, where) for name in arguments_of(cost))
    if isinstance(cost, LinearCost):
        return [(0, 1.0), (1, at[0])]
    if isinstance(cost, PiecewiseCost):
        piece = int(np.searchsorted(np.asarray(cost.breaks), at[0], side="right"))
        return [(2 * piece, 1.0), (2 * piece + 1, at[0])]
    return _table_weights(cost, at)


def weights_of_count(cost: Cost, count: Count, where: str = "") -> Weights:
    """Return the weights at the arguments of a count, or their mean over its distribution. Raises the errors of `weights`."""
    if not count.distribution:
        return weights(cost, count.arguments, where)
    found: dict[int, float] = {}
    for share in count.distribution:
        for number, weight in weights(cost, share.arguments, where):
            found[number] = found.get(number, 0.0) + share.share * weight
    return sorted(found.items())


def check_not_below_zero(cost: Cost, count: Count, where: str, factor: float = 1.0) -> None:
    """Check that a cost is at least 0 at the arguments of a count: a line extrapolated beyond a table may fall below it.

    Args:
        cost: of one operation.
        count: with its arguments, or its distribution, of which each part is checked.
        where: name of the cost's owner, for the message.
        factor: ns in the cost's unit of time.

    Raises:
        RegattaError: the cost is below 0 by more than rounding, or `weights` raises.
    """
    found = coefficients(cost)
    for _, arguments in parts_of_count(count):
        terms = [found[number].value * weight for number, weight in weights(cost, arguments, where)]
        if any(map(math.isinf, terms)):
            raise RegattaError(where, "a finite cost", "an infinite one", "measure it there")
        value = math.fsum(terms)
        if value < -BELOW_ZERO * math.fsum(map(abs, terms)):
            at = ", ".join(f"{name}={arguments[name]:g}" for name in arguments_of(cost)) or "any arguments"
            fix = "measure it there"
            if isinstance(cost, TableCost):
                fix += ", or set `outside: hold` in the table"
            raise RegattaError(where, "a cost of at least 0", f"{value * factor:.4g} ns at {at}", fix)


def parts_of_count(count: Count) -> list[tuple[float, Mapping[str, float]]]:
    """Return each share of a count (0 to 1) with its arguments, without parts of a distribution that have no share."""
    if not count.distribution:
        return [(1.0, count.arguments)]
    return [(part.share, part.arguments) for part in count.distribution if part.share > 0.0]


def evaluate(cost: Cost, arguments: Mapping[str, float]) -> Value:
    """Return the cost of one operation at these arguments, with its interval (MOVER over the coefficients).

    Raises:
        RegattaError: an argument is missing or not finite.
    """
    return combined(coefficients(cost), weights(cost, arguments))


def combined(found: Sequence[Value], multiplied: Weights, factor: float = 1.0) -> Value:
    """Return the weighted sum of coefficients, times a factor, with its interval."""
    terms = {}
    value = 0.0
    reason = ""
    for number, weight in multiplied:
        if weight:
            value += found[number].value * weight * factor
            terms.update(spread(found[number], number, weight * factor))
            reason = reason or found[number].reason
    return positive(Sum(value, terms, reason).interval())


def _argument(name: str, arguments: Mapping[str, float], where: str) -> float:
    value = arguments.get(name, math.nan)
    if math.isfinite(value):
        return value
    given = ", ".join(f"{known}={arguments[known]:g}" for known in arguments) or "no argument"
    expected = f"a finite number for the argument `{name}`"
    raise RegattaError(where or "cost", expected, given, f"give `{name}` with the count")


@lru_cache(maxsize=256)
def _grid(points: tuple[tuple[float, ...], ...]) -> tuple[list[list[float]], dict[tuple[float, ...], int]]:
    """Return the ascending axes of a table, and the index of each grid point in the table."""
    axes = [sorted(set(axis)) for axis in zip(*points, strict=True)]
    return axes, {at: number for number, at in enumerate(points)}


def _table_weights(cost: TableCost, at: tuple[float, ...]) -> Weights:
    """Interpolate multilinearly: the weight of each corner of the grid cell is the product of its weights along each axis."""
    axes, numbers = _grid(tuple(point.at for point in cost.points))
    sides: list[list[tuple[float, float]]] = []
    for axis, value in zip(axes, at, strict=True):
        if cost.outside == "hold":
            value = min(max(value, axis[0]), axis[-1])
        if len(axis) == 1:
            sides.append([(axis[0], 1.0)])
            continue
        upper = min(max(int(np.searchsorted(axis, value)), 1), len(axis) - 1)
        below, above = axis[upper - 1], axis[upper]
        part = (value - below) / (above - below)
        sides.append([(here, weight) for here, weight in ((below, 1.0 - part), (above, part)) if weight])
    found: list[tuple[int, float]] = []
    for corner in itertools.product(*sides):
        number = numbers.get(tuple(here for here, _ in corner))
        if number is None:
            expected, got = (
                "a point for every combination of the grid",
                f"none at {[here for here, _ in corner]}",
            )
            raise RegattaError("table", expected, got, "measure it, or remove the other points of its row")
        found.append((number, math.prod(weight for _, weight in corner)))
    return found
