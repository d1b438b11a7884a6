"""Mean and variance without loss of digits, and scaling that prevents overflow of squares."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.estimate import Floats


def mean_and_variance(x: Floats) -> tuple[float, float]:
    """Return mean and variance (n - 1) of n >= 2 values whose squares neither overflow nor underflow.

    Source: the corrected two-pass algorithm of Chan, Golub and LeVeque, The American Statistician 37 (1983).
    """
    first = float(x.mean())
    mean = first + float((x - first).mean())
    deviations = x - mean
    variance = float((deviations @ deviations - deviations.sum() ** 2 / x.size) / (x.size - 1))
    return mean, variance


def standard_deviation(x: Floats) -> float:
    """Return √variance (n - 1) of finite values of any size; NaN for fewer than two."""
    if x.size < 2 or not np.isfinite(x).all():
        return math.nan
    exponent = math.frexp(float(np.abs(x).max()))[1]
    return ldexp(math.sqrt(mean_and_variance(np.ldexp(x, -exponent))[1]), exponent)


def ldexp(value: float, exponent: int) -> float:
    """Return value · 2^exponent, infinite on overflow."""
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.copysign(math.inf, value)


def vector(values: ArrayLike) -> Floats:
    """Return any array as doubles of shape (n,)."""
    return np.asarray(values, dtype=np.float64).ravel()
