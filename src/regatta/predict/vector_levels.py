"""Vectors whose intervals are brought to another level of confidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from scipy.special import ndtri, stdtrit

from regatta.spec.vectors import ApplicationVector, PiecewiseCost, PrimitiveCost, SystemVector, Value

#: costs, counts and times are at least 0, a part is at most 1; where a later piece's line would meet 0 may be anywhere
_AMOUNT, _PART, _ANY = (0.0, math.inf), (0.0, 1.0), (-math.inf, math.inf)

V = TypeVar("V", ApplicationVector, SystemVector)


def at_level(vector: V, level: float) -> V:
    """The same vector with intervals of another level.

    Each side of an interval is as many times as long as Student's quantile is at the new level (with n - 1 degrees of
    freedom where n is told, else the normal distribution's): exact for intervals that were made so, close for medians'.
    Costs, counts and times end at 0, parts at 0 and 1. An end that was there stays: where it would be without, nobody knows.

    Args:
        vector: whose intervals have its own level.
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
    if one.low == one.value == one.high or not math.isfinite(one.low) or not math.isfinite(one.high):
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
