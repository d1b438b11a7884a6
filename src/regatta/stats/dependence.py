"""Dependence between successive values: lag-1 autocorrelation, and the limits in which independent values keep it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from regatta.stats.estimate import NAN, check_level, only_rounding

#: with fewer values the limits reach so far that no autocorrelation could lie beyond them
LEAST = 5


@dataclass(frozen=True)
class Autocorrelation:
    """The lag-1 `autocorrelation` (-1 to 1; above 0 where a value resembles the one before it) of `n` values, and the limits in which it lies when they are independent."""

    n: int
    autocorrelation: float
    low: float
    high: float
    reason: str = ""

    @property
    def beyond(self) -> bool:
        """Whether it lies outside the limits; False when it is undefined."""
        return self.autocorrelation > self.high or self.autocorrelation < self.low


def lag_1(values: ArrayLike, level: float = 0.95) -> Autocorrelation:
    """The lag-1 autocorrelation of values in the order of time.

    Args:
        values: n finite numbers, in any unit.
        level: probability with which independent normal values keep within the limits, between 0 and 1.

    Returns:
        r = sum of (x_i - m)(x_{i+1} - m) over sum of (x_i - m)^2, and limits around its mean under independence, which is
        -1/n and not 0. NaN with a reason below `LEAST` values or without any spread.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: r: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.12. Mean -1/n and standard deviation
    (n - 2) / (n sqrt(n - 1)) of independent normal values: Moran, Some theorems on time series II, Biometrika 35 (1948).
    """
    check_level(level)
    x = np.asarray(values, dtype=np.float64)
    n = len(x)
    if n < LEAST:
        return Autocorrelation(n, NAN, NAN, NAN, f"{n} values; autocorrelation needs {LEAST}")
    if not np.isfinite(x).all():
        return Autocorrelation(n, NAN, NAN, NAN, "a value is not a number")
    if only_rounding(float(np.ptp(x)), float(np.max(np.abs(x)))):
        return Autocorrelation(n, NAN, NAN, NAN, "no spread")
    # Scaled first: squares of deviations as small as 1e-200 would be 0.
    d = (x - x.mean()) / np.ptp(x)
    r = float(d[:-1] @ d[1:] / (d @ d))
    half = float(ndtri((1.0 + level) / 2.0)) * (n - 2) / (n * math.sqrt(n - 1))
    return Autocorrelation(n, r, -1.0 / n - half, -1.0 / n + half)
