"""Test of normality by Shapiro and Wilk.

scipy.stats also has it, but takes half a second to import, in each analysis and each report.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

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
    scaled = (x - x[n // 2]) / (x[-1] - x[0])
    complement = _complement(scaled, _weights(n))
    return Normality(n, 1 - complement, _p(complement, n))


# Coefficients of AS R94, by ascending power of 1 / sqrt(n), of n (up to 11) or of log n (above).
_LAST = (0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)
_LAST_BUT_ONE = (0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)
_GAMMA_FEW = (-2.273, 0.459)
_MEAN_FEW = (0.544, -0.39978, 0.025054, -6.714e-4)
_LOG_SD_FEW = (1.3822, -0.77857, 0.062767, -0.0020322)
_MEAN = (-1.5861, -0.31082, -0.083751, 0.0038915)
_LOG_SD = (-0.4803, -0.082676, 0.0030302)
_FEW = 11
#: what AS R94 returns where the transformation of W is undefined, which W is small enough for
_LEAST_P = 1e-99


def _weights(n: int) -> NDArray[np.float64]:
    """Return the approximate weights of n values in ascending order, which are antisymmetric."""
    half = n // 2
    if n == LEAST:
        upper = np.array([math.sqrt(0.5)])
    else:
        quantiles = -ndtri((np.arange(1, half + 1) - 0.375) / (n + 0.25))
        squares = 2 * float(quantiles @ quantiles)
        upper = np.empty(half)
        # Only the outermost one or two weights are corrected; the others are proportional to the quantiles.
        corrected = 2 if n > 5 else 1
        for index, coefficients in enumerate((_LAST, _LAST_BUT_ONE)[:corrected]):
            upper[index] = quantiles[index] / math.sqrt(squares) + polyval(1 / math.sqrt(n), coefficients)
        rest = squares - 2 * float(quantiles[:corrected] @ quantiles[:corrected])
        scale = math.sqrt(rest / (1 - 2 * float(upper[:corrected] @ upper[:corrected])))
        upper[corrected:] = quantiles[corrected:] / scale
    return np.concatenate((-upper, np.zeros(n % 2), upper[::-1]))


def _complement(x: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return 1 - W, without the loss of digits that a subtraction from 1 has for W near 1."""
    a, b = weights - weights.mean(), x - x.mean()
    norm = math.sqrt(float(a @ a) * float(b @ b))
    covariance = float(a @ b)
    return max((norm - covariance) * (norm + covariance) / norm**2, 0.0)


def _p(complement: float, n: int) -> float:
    """Return p of 1 - W."""
    if n == LEAST:
        # exact; the least W of three values is 3 / 4
        return max(6 / math.pi * (math.asin(math.sqrt(1 - complement)) - math.pi / 3), 0.0)
    if complement <= 0:
        return 1.0
    y = math.log(complement)
    if n <= _FEW:
        gamma = float(polyval(n, _GAMMA_FEW))
        if y >= gamma:
            return _LEAST_P
        y = -math.log(gamma - y)
        mean, log_sd = polyval(n, _MEAN_FEW), polyval(n, _LOG_SD_FEW)
    else:
        mean, log_sd = polyval(math.log(n), _MEAN), polyval(math.log(n), _LOG_SD)
    return float(ndtr(-(y - mean) / np.exp(log_sd)))
