"""Convert the intervals of vectors to another level of confidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from scipy.special import ndtri, stdtrit

from regatta.models.vectors.values import ApplicationVector, PiecewiseCost, PrimitiveCost, SystemVector, Value

#: costs, counts and times are at least 0, a share is at most 1; the intercept of a later piece is unlimited
_AMOUNT, _PART, _ANY = (0.0, math.inf), (0.0, 1.0), (-math.inf, math.inf)

V = TypeVar("V", ApplicationVector, SystemVector)


def at_level(vector: V, level: float) -> V:
    """Return the vector with intervals of another level.

    The length of each side scales with Student's quantile at the new level (with n - 1 degrees of freedom if n is known, else
    that of the normal distribution). This is exact for intervals computed in that way, and approximate for those of medians.
    Costs, counts and times are clipped at 0, shares at 0 and 1. An end that was clipped stays: its original is unknown.

    Args:
        vector: its intervals have the vector's level.
        level: from 0.5 to 0.9999, as that of the vector.
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
