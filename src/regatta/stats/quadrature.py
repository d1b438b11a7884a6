"""Integration over the estimated standard deviation, and root finding, for the distributions of multiple comparisons.

The rules are fixed: deterministic, and one array operation for all values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import chdtri, gammaincinv

from regatta.stats.estimate import Floats

#: The normal density beyond this is below 1e-16.
NORMAL_EDGE = 8.5
#: Steps of the trapezoidal rule, in standard deviations of the normal variable, and of log s. The second is smaller, because
#: the integrand there is sharper than the density.
_STEP, _SCALE_STEP = 0.5, 0.3
#: Omitted probability at the ends of the distribution of the scale.
_TAIL = 1e-17
#: Points of a polynomial through a tail.
_POINTS = 128
#: Numbers per array operation, which limits memory to about 25 MB.
_CHUNK = 2**20


@lru_cache(maxsize=1024)
def scale_rule(df: float) -> tuple[Floats, Floats]:
    """Return nodes and weights for s = sqrt(chi²(df)/df), density included; the weights sum to 1. `df` >= 1.

    This is the trapezoidal rule for log s; see `normal_rule`. It also covers the values near 0 that determine the far tail for
    few degrees of freedom.
    """
    low = math.log(2.0 * gammaincinv(df / 2, _TAIL) / df) / 2
    high = math.log(chdtri(df, _TAIL) / df) / 2
    # The standard deviation of log s is close to 1/sqrt(2 df) for many degrees of freedom.
    x = np.linspace(low, high, math.ceil((high - low) * math.sqrt(2.0 * df + 4.0) / _SCALE_STEP) + 1)
    s = np.exp(x)
    # Up to a constant factor; the largest exponent is near 0.
    weight = np.exp(df * x - df * (s * s - 1.0) / 2.0)
    return s, weight / weight.sum()


@lru_cache(maxsize=256)
def normal_rule(sharpest: float) -> tuple[Floats, Floats]:
    """Return nodes and weights for a standard normal variable, density included, for products of normal distribution functions.

    Args:
        sharpest: precision (1 / variance), >= 1, of the product of all densities, including that of this variable: k for k
            standard normal variables.

    Source: the trapezoidal rule converges geometrically for such functions: Trefethen and Weideman, SIAM Review 56 (2014); with
    steps of half a standard deviation its error is about exp(-2 (2 pi)²).
    """
    count = 2 * math.ceil(NORMAL_EDGE * math.sqrt(sharpest) / _STEP) + 1
    z = np.linspace(-NORMAL_EDGE, NORMAL_EDGE, count)
    return z, (z[1] - z[0]) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)


@dataclass(frozen=True)
class TailPolynomial:
    """An upper tail at many values: a polynomial in u = x / (x + c) through the tail at Chebyshev points.

    Source: the second barycentric formula, which is stable: Berrut and Trefethen, SIAM Review 46 (2004).
    """

    middle: float
    node: Floats
    weight: Floats
    at_node: Floats

    def __call__(self, x: Floats) -> Floats:
        """Return the tail at x, shape (n,), >= 0."""
        result = np.empty(x.size)
        step = max(1, _CHUNK // self.node.size)
        for start in range(0, x.size, step):
            finite = np.minimum(x[start : start + step], 1e300)
            apart = (finite / (finite + self.middle))[:, None] - self.node
            hit = apart == 0.0
            factor = self.weight / np.where(hit, 1.0, apart)
            value = (factor @ self.at_node) / factor.sum(axis=1)
            rows, columns = np.nonzero(hit)
            value[rows] = self.at_node[columns]
            result[start : start + step] = value
        return np.clip(result, 0.0, 1.0)


def tail_polynomial(tail: Callable[[Floats], Floats], middle: float) -> TailPolynomial:
    """Interpolate an upper tail (smooth, 1 at 0, 0 at infinity). `middle`: the x in the middle of the points."""
    angle = np.pi * np.arange(_POINTS) / (_POINTS - 1)
    node = (1.0 - np.cos(angle)) / 2.0
    weight = np.where(np.arange(_POINTS) % 2, -1.0, 1.0)
    weight[[0, -1]] /= 2.0
    at_node = np.zeros(_POINTS)
    # Evaluate from 0 up to but excluding infinity, where the tail is 0.
    at_node[:-1] = tail(middle * node[:-1] / (1.0 - node[:-1]))
    return TailPolynomial(middle, node, weight, at_node)


def quantile_of(tail: Callable[[float], float], level: float) -> float:
    """Return where a falling upper tail (1 at 0) reaches 1 - `level`, to about 9 digits; infinity if it does not.

    This avoids scipy.optimize, whose import takes 0.1 s.

    Source: regula falsi, Illinois variant: Dowell and Jarratt, BIT 11 (1971).
    """
    aim = math.sqrt(-math.log1p(-level))

    def missing(x: float) -> float:
        # Normal tails fall as exp(-x²), so the root of their logarithm is nearly a straight line.
        return aim - math.sqrt(-math.log(min(1.0, max(tail(x), 1e-300))))

    low, high = 0.0, 8.0
    above, below = aim, missing(high)
    while below > 0.0:
        low, high, above = high, high * 2.0, below
        if high > 1e12:
            return float("inf")
        below = missing(high)
    kept = 0
    middle = high
    for _ in range(100):
        middle = (low * below - high * above) / (below - above) if below != above else (low + high) / 2
        value = missing(middle)
        if abs(value) < 1e-13 or high - low < 1e-12 * high:
            break
        if value > 0:
            low, above = middle, value
            below, kept = (below / 2 if kept == 1 else below), 1
        else:
            high, below = middle, value
            above, kept = (above / 2 if kept == -1 else above), -1
    return middle
