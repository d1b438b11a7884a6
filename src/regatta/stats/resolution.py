"""The grid on which values lie, if a coarse clock rounds them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.moments import standard_deviation, vector

#: A step of this share of the mean hides relevant differences, however much the values vary.
COARSE = 0.01
#: A step below this share of the mean is never coarse.
_FINE = 0.001
#: A value is on the grid of whole units up to this distance, in units.
_ROUNDING = 1e-3


def coarse_step(values: ArrayLike) -> float:
    """Return the grid step of values that a clock rounds coarsely; 0 if the clock is fine enough.

    Args:
        values: shape (n,), >= 0, in the finest unit that a clock can count (ns).

    Returns:
        The largest step of which all values are multiples, in the unit of the values: their greatest common divisor. It is
        coarse if it is at least 1 % of the mean, or at least their standard deviation and 0.1 % of the mean. Equal values give
        their common value: an upper bound of the step. 0 for fewer than two values, and for values that are not whole.
    """
    x = vector(values)
    if x.size < 2 or not np.isfinite(x).all() or not 0.0 < float(x.max()) < 2.0**53:
        return 0.0
    whole = np.rint(x)
    if float(x.min()) < 0.0 or float(np.abs(x - whole).max()) > _ROUNDING:
        return 0.0
    step = float(math.gcd(*(int(value) for value in whole)))
    share = step / float(x.mean())
    return step if share >= COARSE or (share >= _FINE and step >= standard_deviation(whole)) else 0.0
