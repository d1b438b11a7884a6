"""What a primitive costs at given arguments. Every cost is linear in its coefficients, whatever it is in its arguments.

That is what lets one coefficient, used with many arguments, move all of them together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from regatta.host.errors import RegattaError
from regatta.predict.sums import Sum, positive, spread
from regatta.spec.vectors import ConstantCost, Cost, Count, LinearCost, PiecewiseCost, TableCost, Value

#: of the terms of a cost: so far below 0 is rounding, as where a line begins at 0
BELOW_ZERO = 1e-9

#: (number of the coefficient in `coefficients(cost)`, what it is multiplied by)
Weights = Sequence[tuple[int, float]]


def coefficients(cost: Cost) -> Sequence[Value]:
    """The uncertain numbers that a cost is made of."""
    if isinstance(cost, ConstantCost):
        return (cost.cost,)
    if isinstance(cost, LinearCost):
        return (cost.fixed, cost.per)
    if isinstance(cost, TableCost):
        return [point.cost for point in cost.points]
    return [coefficient for piece in cost.pieces for coefficient in piece]


def arguments_of(cost: Cost) -> tuple[str, ...]:
    """The arguments that a cost asks for."""
    if isinstance(cost, ConstantCost):
        return ()
    return cost.arguments if isinstance(cost, TableCost) else (cost.argument,)


def weights(cost: Cost, arguments: Mapping[str, float], where: str = "") -> Weights:
    """What each coefficient is multiplied by at these arguments; coefficients that do not count are left out.

    Args:
        cost: of one operation.
        arguments: name to value; more than the cost asks for may be given.
        where: whose cost it is, for the message.

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
    """The weights at a count's arguments, or their mean over its distribution. Raises what `weights` raises."""
    if not count.distribution:
        return weights(cost, count.arguments, where)
    found: dict[int, float] = {}
    for share in count.distribution:
        for number, weight in weights(cost, share.arguments, where):
            found[number] = found.get(number, 0.0) + share.share * weight
    return sorted(found.items())


def check_not_below_zero(cost: Cost, count: Count, where: str, factor: float = 1.0) -> None:
    """That a cost is at least 0 at a count's arguments: a line that goes on beyond a table may fall below it.

    Args:
        cost: of one operation.
        count: with its arguments, or its distribution, of which each part is looked at.
        where: whose cost it is, for the message.
        factor: ns in the cost's unit of time.

    Raises:
        RegattaError: it is below 0 by more than rounding, or `weights` raises.
    """
    found = coefficients(cost)
    for arguments in arguments_of_count(count):
        terms = [found[number].value * weight for number, weight in weights(cost, arguments, where)]
        if any(map(math.isinf, terms)):
            raise RegattaError(where, "a cost that is a number", "more than any number", "measure it there")
        value = math.fsum(terms)
        if value < -BELOW_ZERO * math.fsum(map(abs, terms)):
            at = ", ".join(f"{name}={arguments[name]:g}" for name in arguments_of(cost)) or "any arguments"
            fix = "measure it there"
            if isinstance(cost, TableCost):
                fix += ", or let the table be held beyond its points (`outside: hold`)"
            raise RegattaError(where, "a cost of at least 0", f"{value * factor:.4g} ns at {at}", fix)


def arguments_of_count(count: Count) -> list[Mapping[str, float]]:
    """All the arguments that a count has, those of a distribution that have a share."""
    return [arguments for _, arguments in parts_of_count(count)]


def parts_of_count(count: Count) -> list[tuple[float, Mapping[str, float]]]:
    """Which part of a count (0 to 1) has which arguments; parts of a distribution without a share are left out."""
    if not count.distribution:
        return [(1.0, count.arguments)]
    return [(part.share, part.arguments) for part in count.distribution if part.share > 0.0]


def evaluate(cost: Cost, arguments: Mapping[str, float]) -> Value:
    """The cost of one operation at these arguments, with its interval (MOVER over the coefficients).

    Args:
        cost: constant, line, table or pieces.
        arguments: name to value.

    Raises:
        RegattaError: an argument is missing or not finite.
    """
    return combined(coefficients(cost), weights(cost, arguments))


def combined(found: Sequence[Value], multiplied: Weights, factor: float = 1.0) -> Value:
    """The weighted sum of coefficients, times a factor, with its interval."""
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
    raise RegattaError(
        where or "cost", f"a finite number for the argument `{name}`", given, f"give `{name}` with the count"
    )


@lru_cache(maxsize=256)
def _grid(points: tuple[tuple[float, ...], ...]) -> tuple[list[list[float]], dict[tuple[float, ...], int]]:
    """The axes of a table, ascending, and where each point stands in the table."""
    axes = [sorted(set(axis)) for axis in zip(*points, strict=True)]
    return axes, {at: number for number, at in enumerate(points)}


def _table_weights(cost: TableCost, at: tuple[float, ...]) -> Weights:
    """Multilinear: a weight for each corner of the grid's cell, the product of those along each axis."""
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
            raise RegattaError(
                "table", "a point for every combination of the grid", f"none at {[here for here, _ in corner]}",
                "measure it, or leave the others of its row out",
            )  # fmt: skip
        found.append((number, math.prod(weight for _, weight in corner)))
    return found
