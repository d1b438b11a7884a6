"""Test of normality by Shapiro and Wilk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.estimate import NAN, only_rounding
from regatta.stats.moments import vector

#: limits of the approximation of p
LEAST, MOST = 3, 5000


@dataclass(frozen=True)
class Normality:
    """The statistic W of Shapiro and Wilk for `n` values, 0 to 1 (1: normal quantiles), and p of "normal"."""

    n: int
    w: float
    p: float
    reason: str = ""


def shapiro_wilk(values: ArrayLike) -> Normality:
    """Test whether independent values are normally distributed.

    Args:
        values: shape (n,), any unit.

    Returns:
        W and p. NaN with a reason below 3 and above 5000 values, without any spread, or if a value is not finite.

    Source: Shapiro and Wilk, Biometrika 52 (1965); P. Royston, Remark AS R94, Applied Statistics 44 (1995), for n up to 5000.
    """
    x = np.sort(vector(values))
    n = int(x.size)
    if not LEAST <= n <= MOST:
        return Normality(n, NAN, NAN, f"n = {n}; the test needs {LEAST} to {MOST} values")
    if not np.isfinite(x).all():
        return Normality(n, NAN, NAN, "a value is not finite")
    largest = float(np.abs(x).max())
    if only_rounding(float(x[-1] - x[0]), largest):
        return Normality(n, NAN, NAN, "all values are equal")
    # The middle and the range do not affect W; without them, squares neither overflow nor lose digits.
    x = (x - x[n // 2]) / (x[-1] - x[0])
    x = x / (x[-1] - x[0])
    # Not `scipy.stats.shapiro`, which has the same digits: importing it takes longer than the rest of a small analysis.
    complement = _complement_of_w(x.tolist())
    if n == LEAST:
        w = max(1 - complement, 0.75)
        return Normality(n, w, max(0.0, 1 - 6 / math.pi * math.acos(math.sqrt(w))))
    return Normality(n, 1 - complement, _p_of(complement, n))


def _complement_of_w(x: Sequence[float]) -> float:
    """Return 1 - W of sorted values with a range of 1."""
    n = len(x)
    weights = _weights(n)
    weights = [-weight for weight in weights] + [0.0] * (n % 2) + weights[::-1]
    mean, middle = _sum(x) / n, _sum(weights) / n
    deviations = [value - mean for value in x]
    centred = [weight - middle for weight in weights]
    ss_weights = _sum([weight * weight for weight in centred])
    ss_values = _sum([value * value for value in deviations])
    both = _sum([weight * value for weight, value in zip(centred, deviations, strict=True)])
    root = math.sqrt(ss_weights * ss_values)
    # Not as a difference of 1, which would lose digits.
    return (root - both) * (root + both) / (ss_weights * ss_values)


def _sum(values: Sequence[float]) -> float:
    """Add in order: `sum` of later versions of Python compensates rounding, so that results would depend on the version."""
    total = 0.0
    for value in values:
        total += value
    return total


def _weights(n: int) -> list[float]:
    """Return the approximate weights of the upper half of the order statistics, largest first."""
    if n == LEAST:
        return [math.sqrt(0.5)]
    half = n // 2
    scores = [_quantile((i + 1 - 0.375) / (n + 0.25)) for i in range(half)]
    squares = 2 * _sum([score * score for score in scores])
    length = math.sqrt(squares)
    u = 1 / math.sqrt(n)
    first = _polynomial((0.0, 0.221157, -0.147981, -2.071190, 4.434685, -2.706056), u) - scores[0] / length
    known = [first]
    if n > 5:
        second = (
            _polynomial((0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633), u) - scores[1] / length
        )
        known.append(second)
    rest = 1.0
    for score, weight in zip(scores, known, strict=False):
        squares -= 2 * (score * score)
        rest -= 2 * (weight * weight)
    scale = 1 / math.sqrt(squares / rest)
    return known + [-score * scale for score in scores[len(known) :]]


def _p_of(complement: float, n: int) -> float:
    """Return p of 1 - W for more than 3 values, from Royston's normal transform."""
    if complement <= 0:
        return 1.0
    y, log_n = math.log(complement), math.log(n)
    if n <= 11:
        y = -math.log(_polynomial((-2.273, 0.459), n) - y)
        mean = _polynomial((0.5440, -0.39978, 0.025054, -0.6714e-3), n)
        deviation = math.exp(_polynomial((1.3822, -0.77857, 0.062767, -0.0020322), n))
    else:
        mean = _polynomial((-1.5861, -0.31082, -0.083751, 0.0038915), log_n)
        deviation = math.exp(_polynomial((-0.4803, -0.082676, 0.0030302), log_n))
    return _upper_tail((y - mean) / deviation)


def _polynomial(coefficients: Sequence[float], x: float) -> float:
    """Return the polynomial with these coefficients, lowest degree first."""
    value = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


def _quantile(p: float) -> float:
    """Return the quantile of the normal distribution as Royston's approximations use it, with 9 digits.

    Source: Beasley and Springer, Algorithm AS 111, Applied Statistics 26 (1977).
    """
    q = p - 0.5
    if abs(q) <= 0.42:
        r = q * q
        above = _polynomial((2.50662823884, -18.61500062529, 41.39119773534, -25.44106049637), r)
        below = _polynomial((1.0, -8.47351093090, 23.08336743743, -21.06224101826, 3.13082909833), r)
        return q * above / below
    r = math.sqrt(-math.log(min(p, 1 - p)))
    above = _polynomial((-2.78718931138, -2.29796479134, 4.85014127135, 2.32121276858), r)
    return math.copysign(above / _polynomial((1.0, 3.54388924762, 1.63706781897), r), q)


def _upper_tail(x: float) -> float:
    """Return the probability of a normal value above x, with 9 digits.

    Source: Hill, Algorithm AS 66, Applied Statistics 22 (1973).
    """
    z = abs(x)
    y = 0.5 * z * z
    tail = 0.0
    if z <= 1.28:
        inner = y + 5.75885480458 - 29.8213557808 / (y + 2.62433121679 + 48.6959930692 / (y + 5.92885724438))
        tail = 0.5 - z * (0.398942280444 - 0.399903438504 * y / inner)
    elif z <= (7.0 if x <= 0 else 38.0):
        inner = (
            z
            - 0.151679116635
            + 5.29330324926
            / (z + 4.8385912808 - 15.1508972451 / (z + 0.742380924027 + 30.789933034 / (z + 3.99019417011)))
        )
        inner = z - 3.8052e-8 + 1.00000615302 / (z + 3.98064794e-4 + 1.98615381364 / inner)
        tail = 0.398942280385 * math.exp(-y) / inner
    return tail if x > 0 else 1 - tail
