"""Dependence between successive values: lag-1 autocorrelation, and its limits for independent values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from regatta.stats.estimate import NAN, check_level, only_rounding

#: With fewer values no autocorrelation can lie outside the limits.
LEAST = 5


@dataclass(frozen=True)
class Autocorrelation:
    """The lag-1 autocorrelation of `n` values, and its limits for independent values.

    `autocorrelation`: -1 to 1; positive if a value resembles the previous one.
    """

    n: int
    autocorrelation: float
    low: float
    high: float
    reason: str = ""

    @property
    def beyond(self) -> bool:
        """Return whether the autocorrelation is outside the limits; False if undefined."""
        return self.autocorrelation > self.high or self.autocorrelation < self.low


def lag_1(values: ArrayLike, level: float = 0.95) -> Autocorrelation:
    """Return the lag-1 autocorrelation of values in the order of time.

    Args:
        values: n finite numbers, in any unit.
        level: probability that independent normal values are within the limits, between 0 and 1.

    Returns:
        r = sum of (x_i - m)(x_{i+1} - m) over sum of (x_i - m)^2, and limits around its mean for independent values, which is
        -1/n, not 0. NaN with a reason below `LEAST` values or without any spread.

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
    # Scale first: squares of deviations as small as 1e-200 would underflow to 0.
    d = (x - x.mean()) / np.ptp(x)
    r = float(d[:-1] @ d[1:] / (d @ d))
    half = float(ndtri((1.0 + level) / 2.0)) * (n - 2) / (n * math.sqrt(n - 1))
    return Autocorrelation(n, r, -1.0 / n - half, -1.0 / n + half)
