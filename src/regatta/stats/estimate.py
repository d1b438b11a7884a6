"""What an estimate carries: point, interval, level, method, n, and why it is undefined if it is.

An interval of one value, or of values without any spread, is not a narrow interval: it is NaN with a reason.
The point is kept where it is defined, because one measured value still is a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NAN = math.nan
#: Spread below this many units in the last place of the largest value is rounding, not spread.
ROUNDING_ULPS = 8.0


@dataclass(frozen=True)
class Interval:
    """A point with its interval.

    `n`: how many independent values (or pairs) it rests on. `point`, `low`, `high`: in the unit of the values; NaN when undefined.
    `level`: confidence, between 0 and 1. `method`: how it was made. `reason`: why something is NaN, else "".
    """

    n: int
    point: float
    low: float
    high: float
    level: float
    method: str
    reason: str = ""

    @property
    def within_range(self) -> str:
        """How the interval of a positive quantity was kept above 0 (`log scale`, `cut at 0`); empty where it was not needed."""
        how = self.method.partition(", ")[2]
        return how if how in ("log scale", "cut at 0") else ""

    def mapped(self, function: Callable[[float], float]) -> Interval:
        """The same interval after a monotone increasing `function`, such as `exp` for what was estimated on logs."""
        return replace(self, point=function(self.point), low=function(self.low), high=function(self.high))


@dataclass(frozen=True)
class Contrast:
    """A difference (or ratio) with the two-sided p value of "there is none" (0 to 1; NaN when undefined).

    `df`: degrees of freedom of Student's distribution behind both; infinite for the normal, NaN when undefined.
    """

    interval: Interval
    p: float
    df: float = NAN

    def mapped(self, function: Callable[[float], float]) -> Contrast:
        """The same contrast with its interval after a monotone increasing `function`."""
        return replace(self, interval=self.interval.mapped(function))


def undefined(n: int, level: float, method: str, reason: str, point: float = NAN) -> Interval:
    """An interval that cannot be given, and why. `point` where at least that is known."""
    return Interval(n, point, NAN, NAN, level, method, reason)


def check_level(level: float) -> None:
    """Raise ValueError unless 0 < level < 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"confidence level: expected a number between 0 and 1 · got {level}")


def only_rounding(spread: float, largest: float) -> bool:
    """Is `spread` (range or standard deviation, >= 0) no more than rounding makes of values as large as `largest`?"""
    return spread <= ROUNDING_ULPS * float(np.finfo(np.float64).eps) * abs(largest)


def safe_exp(value: float) -> float:
    """exp that gives infinity where it would overflow, and keeps NaN."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
