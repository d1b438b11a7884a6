"""Intervals of one sample: the mean, and the geometric mean."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from regatta.stats.estimate import Interval, check_level, only_rounding, safe_exp, undefined


@lru_cache(maxsize=4096)
def t_quantile(df: float, level: float) -> float:
    """The two-sided quantile t(1 - (1 - level)/2; df) of Student's distribution. `df` > 0, 0 < `level` < 1."""
    return float(stdtrit(df, 0.5 + level / 2))


def t_two_sided_p(t: float, df: float) -> float:
    """P(|T| >= |t|) for Student's distribution with `df` > 0 degrees of freedom; NaN stays NaN."""
    return float(2.0 * stdtr(df, -abs(t)))


def mean_interval(values: ArrayLike, level: float = 0.95, method: str = "t") -> Interval:
    """Mean of independent values with Student's t interval.

    Args:
        values: shape (n,), any unit. n = 1 or values without spread give the point alone, n = 0 nothing.
        level: confidence, between 0 and 1.
        method: name kept in the answer.

    Returns:
        x ± t(1 - α/2; n - 1) · s / √n, in the unit of the values.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Georges, Buytaert and Eeckhout, "Statistically Rigorous Java Performance Evaluation" (OOPSLA 2007), section 3.2.2;
    the two-pass mean and variance: Chan, Golub and LeVeque, The American Statistician 37 (1983).
    """
    check_level(level)
    x = np.asarray(values, dtype=np.float64).ravel()
    n = int(x.size)
    if n == 0:
        return undefined(0, level, method, "no values")
    if not np.isfinite(x).all():
        return undefined(n, level, method, "a value is not a finite number")
    largest = float(np.abs(x).max())
    if largest == 0.0:
        return undefined(n, level, method, _no_spread(n), 0.0)
    # Scaled by a power of two, which is exact, so that no square overflows or vanishes.
    exponent = math.frexp(largest)[1]
    x = np.ldexp(x, -exponent)
    first = float(x.mean())
    mean = first + float((x - first).mean())
    point = math.ldexp(mean, exponent)
    if n == 1 or only_rounding(float(x.max() - x.min()), 1.0):
        return undefined(n, level, method, _no_spread(n), point)
    deviations = x - mean
    variance = float((deviations @ deviations - deviations.sum() ** 2 / n) / (n - 1))
    half = t_quantile(n - 1, level) * math.sqrt(variance / n)
    return Interval(n, point, _ldexp(mean - half, exponent), _ldexp(mean + half, exponent), level, method)


def geometric_mean(values: ArrayLike, level: float = 0.95) -> Interval:
    """Geometric mean of positive values, with Student's interval on their logarithms.

    Args:
        values: shape (n,), > 0, such as one ratio for each benchmark of a suite.
        level: confidence, between 0 and 1.

    Returns:
        exp(mean of logs ± t · s/√n). It generalises to further values like these only if they are a sample of such;
        NaN with a reason when a value is not positive.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Fleming and Wallace, "How not to lie with statistics", CACM 29 (1986); the interval is the t interval on logs.
    """
    check_level(level)
    method = "log-t"
    x = np.asarray(values, dtype=np.float64).ravel()
    problem = why_no_logs(x)
    if problem:
        return undefined(int(x.size), level, method, problem)
    return mean_interval(np.log(x), level, method).mapped(safe_exp)


def why_no_logs(x: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    """Why `x` has no logarithms: "" when every value is finite and positive, or when there is none."""
    if x.size == 0:
        return ""
    if not np.isfinite(x).all():
        return "a value is not a finite number"
    if float(x.min()) <= 0.0:
        return "a value is not positive, so it has no logarithm"
    return ""


def _no_spread(n: int) -> str:
    return "one value has no spread" if n == 1 else f"all {n} values are equal, so their spread is unknown"


def _ldexp(value: float, exponent: int) -> float:
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.copysign(math.inf, value)
