"""An estimate: point, interval, level, method, n, and the reason if it is undefined.

One value, or values without any spread, do not give a narrow interval: the interval is NaN with a reason.
The point is kept if it is defined, because a single measured value is still a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NAN = math.nan
#: Remark of a method (after a comma): exact values that do not vary have an exact ratio.
NO_VARIANCE = "no variance"
#: Last remark of a method: a disturbance affected the values, so no conclusion is drawn from them.
DISTURBED = "disturbed"
#: A spread below this number of units in the last place of the largest value is rounding.
ROUNDING_ULPS = 8.0


def is_disturbed(method: str) -> bool:
    """Return whether the method of an interval has the mark of disturbed values."""
    return method.endswith(f", {DISTURBED}")


@dataclass(frozen=True)
class Interval:
    """A point with its interval.

    `n`: number of independent values (or pairs). `point`, `low`, `high`: in the unit of the values; NaN when undefined.
    `level`: confidence, between 0 and 1. `method`: name of the method. `reason`: why a value is NaN, else "".
    """

    n: int
    point: float
    low: float
    high: float
    level: float
    method: str
    reason: str = ""

    @property
    def is_exact(self) -> bool:
        """Return whether the point is exact, because the exact values behind it do not vary."""
        return NO_VARIANCE in self.method.split(", ")

    @property
    def is_disturbed(self) -> bool:
        """Return whether a disturbance affected the values."""
        return is_disturbed(self.method)

    @property
    def inconclusive(self) -> str:
        """Return why nothing may be computed or concluded from the point: it is undefined or disturbed; "" otherwise."""
        if math.isnan(self.point):
            return self.reason or "undefined"
        return "fewer than two undisturbed measurements" if self.is_disturbed else ""

    @property
    def within_range(self) -> str:
        """Return how the interval of a positive quantity was kept above 0 (`log scale`, `cut at 0`); "" if not needed."""
        return next((how for how in self.method.split(", ") if how in ("log scale", "cut at 0")), "")

    def disturbed(self) -> Interval:
        """Return the interval with the mark of disturbed values."""
        return replace(self, method=f"{self.method}, {DISTURBED}")

    def mapped(self, function: Callable[[float], float]) -> Interval:
        """Return the interval after a monotone increasing `function`, such as `exp` for an estimate on logs."""
        return replace(self, point=function(self.point), low=function(self.low), high=function(self.high))


@dataclass(frozen=True)
class Contrast:
    """A difference (or ratio) with the two-sided p value of "no difference" (0 to 1; NaN when undefined).

    `df`: degrees of freedom of Student's distribution for both; infinite for the normal, NaN when undefined. `looks`: the largest
    number of rounds of a rule that looked at the values several times, for which both are adjusted (`looks.py`); 0: none did.
    """

    interval: Interval
    p: float
    df: float = NAN
    looks: int = 0

    def mapped(self, function: Callable[[float], float]) -> Contrast:
        """Return the contrast with its interval after a monotone increasing `function`."""
        return replace(self, interval=self.interval.mapped(function))


def undefined(n: int, level: float, method: str, reason: str, point: float = NAN) -> Interval:
    """Return an undefined interval with its reason, and with `point` if it is known."""
    return Interval(n, point, NAN, NAN, level, method, reason)


def exact(point: float, n: int, level: float, method: str, df: float, *, equal: float = 1.0) -> Contrast:
    """Return a contrast without variance: both ends are the point, and p is 1 if the point is `equal`, else 0.

    `equal`: the point of "no difference", 1 for ratios and 0 for differences.
    """
    interval = Interval(n, point, point, point, level, f"{method}, {NO_VARIANCE}")
    return Contrast(interval, 1.0 if point == equal else 0.0, df)


def check_level(level: float) -> None:
    """Raise ValueError unless 0 < level < 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"confidence level: expected a number between 0 and 1 · got {level}")


def only_rounding(spread: float, largest: float) -> bool:
    """Return whether `spread` (range or standard deviation, >= 0) is only rounding of values as large as `largest`."""
    return spread <= ROUNDING_ULPS * float(np.finfo(np.float64).eps) * abs(largest)


def safe_exp(value: float) -> float:
    """Return exp(value), infinite on overflow; NaN stays NaN."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
