"""A sum that tracks its uncertain sources, so that its interval and ratios account for shared errors.

Source: `regatta.stats.mover`; for ratios A. Donner and G. Y. Zou, "Closed-form confidence intervals for
functions of the normal mean and standard deviation", Statistical Methods in Medical Research 21 (2012)
347-359, whose limits are the ratios at which the interval of `a - r b` ends at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri, stdtrit

from regatta.models.vectors.values import (
    ApplicationVector,
    PiecewiseCost,
    PrimitiveCost,
    SystemVector,
    TimeUnit,
    Value,
)
from regatta.stats.mover import distances

#: nanoseconds per unit of time: computations and reports use ns
NS: dict[TimeUnit, float] = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}

#: relative to the divisor: the start of an interval this close above 0 is rounding
_ROUNDING = 1e-12

#: why a difference or ratio has no upper limit
UNBOUNDED = "the interval of the divisor contains 0"


@dataclass(frozen=True)
class Sum:
    """A value, and its sensitivity to each uncertain source.

    `terms`: source -> (slope, below, above). The slope is the derivative by that source, whose interval
    reaches from `below` under its value to `above` over it. A source that occurs several times has one term,
    whose slope is the sum: its error moves all occurrences together. Exact numbers have no term.
    """

    value: float
    terms: dict[Hashable, tuple[float, float, float]] = field(default_factory=dict)
    #: why the value or its interval is undefined
    reason: str = ""

    def times(self, factor: float) -> Sum:
        """Return the sum multiplied by an exact number."""
        terms = {at: (slope * factor, below, above) for at, (slope, below, above) in self.terms.items()}
        return Sum(self.value * factor, terms, self.reason)

    def plus(self, other: Sum) -> Sum:
        """Return the total of two sums; common sources move both."""
        terms = dict(self.terms)
        for at, term in other.terms.items():
            mine = terms.get(at)
            terms[at] = term if mine is None else (mine[0] + _slope_by(mine, term), *mine[1:])
        return Sum(self.value + other.value, terms, self.reason or other.reason)

    def minus(self, other: Sum) -> Sum:
        """Return the difference."""
        return self.plus(other.times(-1.0))

    def interval(self) -> Value:
        """Return the MOVER interval: on each side the root of the sum of squares of each source's effect."""
        low, high = distances(
            (slope * below, slope * above) if slope > 0.0 else (slope * above, slope * below)
            for slope, below, above in self.terms.values()
            if slope != 0.0
        )
        ends = (self.value - low, self.value + high)
        defined = math.isfinite(ends[0]) and math.isfinite(ends[1])
        return Value(self.value, *ends, reason="" if defined else self.reason)


def _slope_by(source: tuple[float, float, float], term: tuple[float, float, float]) -> float:
    """Return the slope of a term by a source that may be a multiple of the same number (a changed cost)."""
    width = source[1] + source[2]
    return term[0] * ((term[1] + term[2]) / width if width > 0.0 else 1.0)


def summed(parts: Iterable[Sum]) -> Sum:
    """Return the total of sums; common sources move all of them."""
    found = Sum(0.0)
    for part in parts:
        found = found.plus(part)
    return found


def uncertain(value: Value, source: Hashable, factor: float = 1.0) -> Sum:
    """Return one number, times an exact factor, as a sum."""
    return Sum(value.value * factor, spread(value, source, factor), value.reason)


def spread(value: Value, source: Hashable, slope: float) -> dict[Hashable, tuple[float, float, float]]:
    """Return the term of one number: none if it is exact or has no effect."""
    below, above = value.value - value.low, value.high - value.value
    return {} if slope == 0.0 or (below == 0.0 and above == 0.0) else {source: (slope, below, above)}


def positive(found: Value) -> Value:
    """Return the interval of a non-negative quantity, cut at 0."""
    low = max(found.low, min(found.value, 0.0)) if math.isfinite(found.low) else found.low
    return Value(found.value, low, found.high, found.n, found.reason)


def ratio(above: Sum, under: Sum) -> Value:
    """Return `above / under` with the interval of all r for which that of `above - r under` contains 0.

    Common sources act on the difference. So the interval of the ratio contains 1 exactly if that of the
    difference contains 0. The high end is NaN if the interval of `under` contains 0.
    """
    if not (math.isfinite(above.value) and math.isfinite(under.value)):
        return Value(math.nan, reason=above.reason or under.reason or "no value")
    if under.value <= 0.0:
        return Value(math.nan, reason="division by 0")
    value = above.value / under.value
    ends = _ends(above, under)
    if not math.isfinite(ends(value)[0] + ends(value)[1]):
        return Value(value, reason=above.reason or under.reason or "no interval")
    low = 0.0
    if ends(0.0)[0] > 0.0 and value > 0.0:
        low = _root(lambda r: ends(r)[0], 0.0, value)
    if under.interval().low <= _ROUNDING * under.value:
        return Value(value, low, math.nan, reason=UNBOUNDED)
    further = max(2.0 * value, 1e-300)
    while ends(further)[1] > 0.0:
        further *= 2.0
    return Value(value, min(low, value), max(_root(lambda r: ends(r)[1], value, further), value))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    at_low, at_high = function(low), function(high)
    if at_low * at_high >= 0.0:
        # Without a change of sign, rounding hides the root at the end where the function is nearly 0.
        return low if abs(at_low) < abs(at_high) else high
    return float(brentq(function, low, high, rtol=1e-12, xtol=1e-300))


def _ends(above: Sum, under: Sum) -> Callable[[float], tuple[float, float]]:
    """Return the function of r that gives the ends of the interval of `above - r under`."""
    known = {**under.terms, **above.terms}
    at = list(known)
    a = np.array([above.terms[source][0] if source in above.terms else 0.0 for source in at])
    b = np.array(
        [_slope_by(known[source], under.terms[source]) if source in under.terms else 0.0 for source in at]
    )
    below = np.array([known[source][1] for source in at])
    over = np.array([known[source][2] for source in at])

    def of(r: float) -> tuple[float, float]:
        slopes = a - r * b
        down = np.where(slopes > 0.0, below, over) * slopes
        up = np.where(slopes > 0.0, over, below) * slopes
        value = above.value - r * under.value
        return value - math.sqrt(float(down @ down)), value + math.sqrt(float(up @ up))

    return of


# Another level of confidence

#: costs, counts and times are at least 0, a share is at most 1; the intercept of a later piece is unlimited
_AMOUNT, _PART, _ANY = (0.0, math.inf), (0.0, 1.0), (-math.inf, math.inf)

V = TypeVar("V", ApplicationVector, SystemVector)


def at_level(vector: V, level: float) -> V:
    """Return the vector with intervals of another level.

    The length of each side scales with Student's quantile at the new level (with n - 1 degrees of freedom if
    n is known, else that of the normal distribution). This is exact for intervals computed in that way, and
    approximate for those of medians. Costs, counts and times are clipped at 0, shares at 0 and 1. An end that
    was clipped stays: its original is unknown. Levels are from 0.5 to 0.9999.
    """
    if vector.level == level:
        return vector
    scaled: V = _mapped(vector, vector.level, level, _AMOUNT)
    return replace(scaled, level=level)


def _mapped(value: Any, old: float, new: float, ends: tuple[float, float]) -> Any:
    if isinstance(value, Value):
        return _scaled(value, old, new, *ends)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {one.name: _mapped(getattr(value, one.name), old, new, ends) for one in fields(value)}
        if isinstance(value, PrimitiveCost):
            changed["user_share"] = _mapped(value.user_share, old, new, _PART)
        elif isinstance(value, PiecewiseCost):
            changed["pieces"] = tuple(
                (_mapped(fixed, old, new, _ANY if number else ends), _mapped(per, old, new, ends))
                for number, (fixed, per) in enumerate(value.pieces)
            )
        return replace(value, **changed)
    if isinstance(value, tuple):
        return tuple(_mapped(item, old, new, ends) for item in value)
    if isinstance(value, Mapping):
        return {key: _mapped(item, old, new, ends) for key, item in value.items()}
    return value


def _scaled(one: Value, old: float, new: float, least: float, most: float) -> Value:
    if one.is_exact or not math.isfinite(one.low) or not math.isfinite(one.high):
        return one
    if not least <= one.value <= most:
        least, most = _ANY
    factor = _quantile(new, one.n) / _quantile(old, one.n)
    low, high = one.value - (one.value - one.low) * factor, one.value + (one.high - one.value) * factor
    low = one.low if one.low == least else max(low, least)
    high = one.high if one.high == most else min(high, most)
    return replace(one, low=low, high=high)


def _quantile(level: float, n: int) -> float:
    upper = 0.5 + level / 2
    return float(stdtrit(n - 1, upper) if n >= 2 else ndtri(upper))
