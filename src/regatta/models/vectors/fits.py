"""Fit the cost of one primitive to the values of each invocation, with the interval over invocations."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from regatta.host.errors import RegattaError
from regatta.models.vectors.primitives import CostSpec
from regatta.models.vectors.values import (
    ConstantCost,
    Cost,
    LinearCost,
    PiecewiseCost,
    TableCost,
    TablePoint,
    Value,
)
from regatta.stats.intervals import mean_interval
from regatta.stats.lines import Line, relative_line

#: of one invocation: arguments of the cost -> cost
Points = Mapping[tuple[float, ...], float]


class NoCost(RegattaError):
    """The measurements do not determine the cost; the message has the reason."""


@dataclass(frozen=True)
class Fit:
    """A cost, and the residuals of its lines (mean over invocations)."""

    cost: Cost
    #: largest relative residual, 0.1 for 10 %; NaN without a line
    worst: float = math.nan
    #: argument of that residual
    worst_at: float = math.nan
    #: argument of the cost -> the range in which every invocation measured it
    measured: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def interval_of(values: Sequence[float], level: float, most: float = math.inf, least: float = 0.0) -> Value:
    """Return the mean of one value per invocation with Student's interval, clipped to the range of the quantity."""
    plain = Value.of(mean_interval(values, level))
    if math.isnan(plain.low):
        return plain
    return replace(plain, low=max(plain.low, least), high=min(plain.high, most))


def fit(
    rule: CostSpec,
    invocations: Sequence[Points],
    level: float,
    limits: Mapping[tuple[float, ...], float] | None = None,
) -> Fit:
    """Return the cost that a rule computes from the points of the invocations.

    Args:
        rule: the kind of cost.
        invocations: the points of each, at least one; all in one unit of time.
        level: of the intervals.
        limits: of points that were too cheap for a number in some invocation: the most that they can cost. These invocations
            have half of it. The intervals of such costs begin at 0 and reach the limit.

    Raises:
        NoCost: too few points.
    """
    limits = limits or {}
    if rule.kind == "constant":
        cost = interval_of([points[()] for points in invocations], level)
        return Fit(ConstantCost(_reaching(cost, limits.get(()))))
    if rule.kind == "table":
        return Fit(_table(rule, invocations, level, limits))
    if rule.kind == "piecewise":
        if limits:
            got = ", ".join(f"a limit at {at[0]:g}" for at in sorted(limits))
            raise NoCost("pieces", "a number at each size", got, "use another kind of cost")
        return _pieces(rule, invocations, level)
    lines = [_line(points) for points in invocations]
    worst, worst_at = _worst(invocations, lines, limits.keys())
    fixed = _reaching(interval_of([line.fixed for line in lines], level), max(limits.values(), default=None))
    per = interval_of([line.per for line in lines], level)
    costs: dict[str, Cost] = {"fixed": ConstantCost(fixed), "per": ConstantCost(per)}
    if rule.kind in costs:
        return Fit(costs[rule.kind], worst, worst_at)
    return Fit(LinearCost(rule.arguments[0], fixed, per), worst, worst_at, _range(rule, invocations))


def _reaching(cost: Value, limit: float | None) -> Value:
    """Return a cost with an interval from 0 to at least the limit, if there is one."""
    if limit is None:
        return cost
    return replace(cost, low=0.0, high=max(limit, cost.value, np.nan_to_num(cost.high)), reason="")


def _range(rule: CostSpec, invocations: Sequence[Points]) -> dict[str, tuple[float, float]]:
    """Return the range of the one argument of a line or of pieces."""
    sizes = set.intersection(*({at for (at,) in points} for points in invocations))
    return {rule.arguments[0]: (min(sizes), max(sizes))} if sizes else {}


def _line(points: Points, begin: float = 0.0) -> Line:
    """Return the line of one invocation, at least 0 from `begin` on."""
    sizes = [at[0] for at in points]
    if len(points) < 2:
        shown = ", ".join(f"{size:g}" for size in sizes) or "none"
        raise NoCost("line", "at least two sizes", shown, "measure more sizes")
    from_there = relative_line([size - begin for size in sizes], list(points.values()))
    return Line(from_there.fixed - from_there.per * begin, from_there.per)


def _worst(
    invocations: Sequence[Points], lines: Sequence[Line], without: Collection[tuple[float, ...]] = ()
) -> tuple[float, float]:
    """Return the largest relative residual of the mean over invocations, and its argument; NaN without points."""
    missed: dict[float, list[float]] = {}
    for points, line in zip(invocations, lines, strict=True):
        for (size,), cost in ((at, cost) for at, cost in points.items() if at not in without):
            missed.setdefault(size, []).append(line.at(size) / cost - 1.0)
    means = {size: math.fsum(each) / len(each) for size, each in missed.items()}
    if not means:
        return math.nan, math.nan
    at = max(means, key=lambda size: abs(means[size]))
    return abs(means[at]), at


def _table(
    rule: CostSpec,
    invocations: Sequence[Points],
    level: float,
    limits: Mapping[tuple[float, ...], float],
) -> TableCost:
    everywhere = set.intersection(*(set(points) for points in invocations))
    if not everywhere:
        raise NoCost("table", "points common to all invocations", "none", "see the failed invocations")
    axes = [sorted(set(axis)) for axis in zip(*everywhere, strict=True)]
    if math.prod(map(len, axes)) != len(everywhere):
        got = f"{len(everywhere)} of {math.prod(map(len, axes))}"
        raise NoCost(
            "table", "a point for each combination of the arguments", got, "measure all combinations"
        )
    points = (
        TablePoint(at, _reaching(interval_of([each[at] for each in invocations], level), limits.get(at)))
        for at in sorted(everywhere)
    )
    return TableCost(rule.arguments, tuple(points), rule.outside)


def _pieces(rule: CostSpec, invocations: Sequence[Points], level: float) -> Fit:
    """Fit a line to each piece. A break's point belongs to both sides. A later piece may have an intercept below 0."""
    breaks = tuple(map(float, rule.breaks))
    edges = [0.0, *breaks, math.inf]
    pieces: list[tuple[Value, Value]] = []
    worst: tuple[float, float] = (0.0, math.nan)
    for low, high in pairwise(edges):
        parts = [{at: cost for at, cost in p.items() if low <= at[0] <= high} for p in invocations]
        if any(len(part) < 2 for part in parts):
            got = f"fewer from {low:g} to {high:g}"
            raise NoCost(
                "pieces", "at least two sizes per piece", got, "measure more sizes, or remove a break"
            )
        lines = [_line(part, low) for part in parts]
        worst = max(worst, _worst(parts, lines))
        fixed = interval_of([line.fixed for line in lines], level, least=-math.inf if low > 0 else 0.0)
        pieces.append((fixed, interval_of([line.per for line in lines], level)))
    cost = PiecewiseCost(rule.arguments[0], breaks, tuple(pieces))
    return Fit(cost, *worst, _range(rule, invocations))
