"""Intervals of one sample: the mean, and the geometric mean."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from regatta.stats.estimate import Floats, Interval, check_level, only_rounding, safe_exp, undefined
from regatta.stats.moments import ldexp, mean_and_variance, vector

#: The method of the paper: z for samples of at least LARGE values, t below.
GEORGES_2007 = "georges2007"
LARGE = 30
#: Suffix of the method of an interval that would have extended below the range of a positive quantity.
LOG_SCALE = ", log scale"
CUT_AT_ZERO = ", cut at 0"
#: Two values determine their spread so poorly that the edges on the log scale are orders of magnitude away.
_LEAST_ON_LOGS = 3


@lru_cache(maxsize=4096)
def t_quantile(df: float, level: float) -> float:
    """Return the two-sided quantile t(1 - (1 - level)/2; df) of Student's distribution.

    `df` > 0, infinite for the normal distribution's z(1 - (1 - level)/2); 0 < `level` < 1.
    """
    return float(stdtrit(df, 0.5 + level / 2))


def t_two_sided_p(t: float, df: float) -> float:
    """Return P(|T| >= |t|) for Student's t with `df` > 0 degrees of freedom (infinite: normal); NaN stays NaN."""
    return float(2.0 * stdtr(df, -abs(t)))


def mean_interval(
    values: ArrayLike, level: float = 0.95, method: str = "t", positive: bool = False
) -> Interval:
    """Return the mean of independent values with Student's t interval.

    Args:
        values: shape (n,), any unit. n = 1 or values without spread give only the point, n = 0 gives NaN.
        level: confidence, between 0 and 1.
        method: name stored in the result. `georges2007` is the method of the paper: the normal distribution for n >= 30 and
            Student's below. The method in the result is then `z` or `t`.
        positive: whether the quantity cannot be negative (`regatta.host.units.is_positive`). Then the interval is not negative
            either. The method of the paper ignores this.

    Returns:
        x ± t(1 - α/2; n - 1) · s / √n, in the unit of the values; the method of the paper uses z(1 - α/2) instead of t. If that
        reaches 0 or below and the quantity is positive: x · exp(± t · s / (√n · x)), by the delta method, with `LOG_SCALE` in
        the method name. With a value of 0, or fewer than three values: the plain interval cut at 0, with `CUT_AT_ZERO`.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Georges, Buytaert and Eeckhout, "Statistically Rigorous Java Performance Evaluation" (OOPSLA 2007), sections 3.2.1
    and 3.2.2; the two-pass mean and variance: Chan, Golub and LeVeque, The American Statistician 37 (1983); the delta method on
    logarithms: Meeker and Escobar, "Statistical Methods for Reliability Data" (Wiley 1998), chapters 7 and 8.
    """
    check_level(level)
    positive = positive and method != GEORGES_2007
    x = vector(values)
    n = int(x.size)
    normal = method == GEORGES_2007 and n >= LARGE
    if method == GEORGES_2007:
        method = "z" if normal else "t"
    if n == 0:
        return undefined(0, level, method, "no values")
    if not np.isfinite(x).all():
        return undefined(n, level, method, "a value is not a finite number")
    largest = float(np.abs(x).max())
    if largest == 0.0:
        return undefined(n, level, method, _no_spread(n), 0.0)
    # Scaling by a power of two is exact and prevents overflow and underflow of squares.
    exponent = math.frexp(largest)[1]
    x = np.ldexp(x, -exponent)
    if n == 1:
        return undefined(1, level, method, _no_spread(1), ldexp(float(x[0]), exponent))
    mean, variance = mean_and_variance(x)
    point = ldexp(mean, exponent)
    if only_rounding(float(x.max() - x.min()), 1.0):
        return undefined(n, level, method, _no_spread(n), point)
    half = t_quantile(math.inf if normal else n - 1, level) * math.sqrt(variance / n)
    low, high = mean - half, mean + half
    if positive and low <= 0.0 <= float(x.min()):
        low, high, how = _within_range(x, mean, half)
        method += how
    return Interval(n, point, ldexp(low, exponent), ldexp(high, exponent), level, method)


def _within_range(x: Floats, mean: float, half: float) -> tuple[float, float, str]:
    """Return the edges for values >= 0 whose plain interval, mean ± half, reaches 0, and the name of the method."""
    edges = mean * safe_exp(-half / mean), mean * safe_exp(half / mean)
    if x.size >= _LEAST_ON_LOGS and float(x.min()) > 0.0 and edges[0] > 0.0 and math.isfinite(edges[1]):
        return *edges, LOG_SCALE
    return 0.0, mean + half, CUT_AT_ZERO


def geometric_mean(values: ArrayLike, level: float = 0.95) -> Interval:
    """Return the geometric mean of positive values, with Student's interval on their logarithms.

    Args:
        values: shape (n,), > 0, such as one ratio per benchmark of a suite.
        level: confidence, between 0 and 1.

    Returns:
        exp(mean of logs ± t · s/√n). It generalizes to other values only if these are a sample of them. NaN with a reason if a
        value is not positive.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Fleming and Wallace, "How not to lie with statistics", CACM 29 (1986); the interval is the t interval on logs.
    """
    check_level(level)
    method = "log-t"
    x = vector(values)
    problem = why_no_logs(x)
    if problem:
        return undefined(int(x.size), level, method, problem)
    return mean_interval(np.log(x), level, method).mapped(safe_exp)


def why_no_logs(x: Floats) -> str:
    """Return why `x` has no logarithms; "" if every value is finite and positive, or if `x` is empty."""
    if x.size == 0:
        return ""
    if not np.isfinite(x).all():
        return "a value is not a finite number"
    if float(x.min()) <= 0.0:
        return "a value is not positive, so it has no logarithm"
    return ""


def _no_spread(n: int) -> str:
    return "one value has no variance" if n == 1 else f"all {n} values are equal, so the variance is unknown"
