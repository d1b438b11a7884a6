"""The level at each look of the rule `decide`, and p values over all looks.

The rule forms an ordinary interval of Student's t at each look, all at one nominal level (`regatta.host.journal.looks`). Here is
which nominal level gives all intervals together the wanted confidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from scipy.special import nctdtrinc

from regatta.stats.estimate import Contrast, Floats, Interval, check_level
from regatta.stats.intervals import t_quantile
from regatta.stats.multiplicity import sidak_level

#: remark of a method (after a comma): interval and p are adjusted for several looks at the values
LOOKS = "several looks"
#: why a mean over measurements that stopped by their values has no other interval
STOPPED = "measuring stopped because of these values"
#: a smaller p is given as this one, because the level of the interval would round to 1
_LEAST_P = 1e-9

#: largest numbers of rounds, and errors of all looks together
_MAXIMA = (3, 5, 7, 10, 15, 21, 31, 50, 98, 191, 495, 967, 2074, 4890, 10_000)
_ERRORS = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005)
#: Nominal error of each look as a share of the error of all. From a simulation of 3,000,000 series of normal values with numpy's
#: PCG64(20070144) by `perf/accuracy/deciding.py --table`; the standard error of a share is below 2 % of it at an error of 0.001.
_SHARES = np.array(
    [
        [1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000],
        [0.761, 0.686, 0.636, 0.580, 0.544, 0.494, 0.456, 0.422, 0.404, 0.394, 0.377, 0.364, 0.359],
        [0.655, 0.564, 0.504, 0.442, 0.405, 0.357, 0.323, 0.291, 0.275, 0.262, 0.251, 0.244, 0.228],
        [0.568, 0.470, 0.407, 0.347, 0.313, 0.270, 0.240, 0.212, 0.200, 0.189, 0.177, 0.166, 0.157],
        [0.491, 0.392, 0.330, 0.274, 0.244, 0.207, 0.182, 0.159, 0.147, 0.138, 0.129, 0.120, 0.114],
        [0.447, 0.348, 0.289, 0.238, 0.210, 0.178, 0.155, 0.135, 0.125, 0.116, 0.107, 0.100, 0.096],
        [0.404, 0.307, 0.251, 0.204, 0.180, 0.151, 0.132, 0.115, 0.106, 0.098, 0.089, 0.084, 0.082],
        [0.361, 0.268, 0.216, 0.174, 0.152, 0.128, 0.111, 0.097, 0.088, 0.081, 0.074, 0.070, 0.069],
        [0.314, 0.227, 0.181, 0.144, 0.125, 0.105, 0.091, 0.079, 0.073, 0.067, 0.062, 0.058, 0.056],
        [0.278, 0.197, 0.155, 0.122, 0.107, 0.089, 0.077, 0.067, 0.062, 0.057, 0.052, 0.049, 0.048],
        [0.239, 0.165, 0.128, 0.100, 0.087, 0.073, 0.064, 0.056, 0.051, 0.047, 0.043, 0.041, 0.039],
        [0.217, 0.148, 0.114, 0.089, 0.077, 0.065, 0.056, 0.049, 0.045, 0.042, 0.038, 0.036, 0.035],
        [0.196, 0.132, 0.101, 0.079, 0.068, 0.057, 0.050, 0.043, 0.040, 0.037, 0.034, 0.033, 0.032],
        [0.177, 0.118, 0.090, 0.069, 0.060, 0.050, 0.044, 0.039, 0.036, 0.033, 0.030, 0.029, 0.028],
        [0.163, 0.108, 0.082, 0.063, 0.055, 0.046, 0.040, 0.035, 0.032, 0.030, 0.028, 0.026, 0.026],
    ]
)
_LOG_ERRORS = np.log(_ERRORS[::-1])
#: below the smallest error, shares shrink with this power of the error; the simulation shows less
_POWER = 0.1


def level_of_looks(level: float, maximum: int) -> float:
    """Return the nominal level of the interval at each look, so that all intervals together contain the ratio with `level`.

    Args:
        level: confidence of all looks together, between 0 and 1.
        maximum: the largest number of rounds, at least 3 and at most 10,000; 0: there is one look.

    Returns:
        A higher level, between 0 and 1; with one look `level`.

    Raises:
        ValueError: an argument is outside its range.

    Source: the table of this module, linear on logarithms between its entries. The series are of normal values; rounds without a
    value change it little.
    """
    check_level(level)
    return 1.0 - _nominal(1.0 - level, maximum) if maximum else level


def p_over_looks(p: float, maximum: int) -> float:
    """Return the p value over all looks of the nominal p value of the look that ended the measuring, or of the last look.

    It is at most an error exactly if the interval of that look, at the level for this error, excludes equality. NaN stays NaN.

    Args:
        p: nominal, 0 to 1.
        maximum: as in `level_of_looks`.
    """
    if math.isnan(p) or p <= 0.0:
        return p
    low, high = math.log(p), 0.0
    # The nominal error grows with the error of all looks, and is never larger.
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _nominal(math.exp(middle), maximum) < p else (low, middle)
    return math.exp(high)


def adjusted_for_looks(nominal: Contrast, level: float, maximum: int) -> Contrast:
    """Return a contrast that a rule looked at several times.

    Args:
        nominal: computed at `level_of_looks(level, maximum)`.
        level: of all looks together, between 0 and 1.
        maximum: the largest number of rounds; 0: there was one look, and nothing changes.
    """
    if not maximum:
        return nominal
    interval = replace(nominal.interval, level=level)
    if not (math.isnan(interval.low) or interval.is_exact):
        interval = replace(interval, method=f"{interval.method}, {LOOKS}")
    return replace(nominal, interval=interval, p=p_over_looks(nominal.p, maximum), looks=maximum)


def quantile_over_looks(df: float, level: float, looks: int) -> float:
    """Return the two-sided quantile of Student's t of an interval at `level`, adjusted for `looks` as in `Contrast`."""
    return t_quantile(df, level_of_looks(level, looks))


def smallest_found(deviation: float, maximum: int, level: float, chance: float) -> float:
    """Return the smallest difference that the last of all looks finds with this chance: its interval excludes 0.

    Earlier looks add a little, so that the chance of all looks together is larger.

    Args:
        deviation: standard deviation of the differences, >= 0.
        maximum: the largest number of rounds, as in `level_of_looks`.
        level: confidence of all looks together, between 0 and 1.
        chance: between 0 and 1, larger than 1 - level.

    Source: the power of Student's t test, by the non-central t distribution.
    """
    last = t_quantile(maximum - 1, level_of_looks(level, maximum))
    return float(nctdtrinc(maximum - 1, 1.0 - chance, last)) * deviation / math.sqrt(maximum)


def mean_over_looks(
    errors: Sequence[tuple[float, float]], point: float, n: int, level: float, looks: int, method: str
) -> Contrast:
    """Return the mean of differences that a rule each stopped by its own values.

    Each is more extreme than it is true, which a mean does not reduce. So the interval is the mean of intervals that together
    contain all differences, over all looks (Sidak). It is wider than necessary: simulated, it contains nearly always.

    Args:
        errors: of each difference, the variance of its estimate, >= 0 (0: it is exact), and its degrees of freedom.
        point: the mean difference.
        n: as in `Interval`.
        level: confidence, between 0 and 1.
        looks: as in `Contrast`, not 0.
        method: name of the mean.

    Returns:
        The interval, and the error at which 0 is at its edge as p, at least 1e-9. Without degrees of freedom.
    """
    known = [(math.sqrt(variance), df) for variance, df in errors if variance > 0.0]

    def half_of(error: float) -> float:
        own = sidak_level(1.0 - error, len(errors))
        return math.fsum(quantile_over_looks(df, own, looks) * deviation for deviation, df in known) / len(
            errors
        )

    low, high = math.log(_LEAST_P), -1e-12
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (middle, high) if half_of(math.exp(middle)) > abs(point) else (low, middle)
    half = half_of(1.0 - level)
    interval = Interval(n, point, point - half, point + half, level, f"{method}, {LOOKS}")
    return Contrast(interval, math.exp(high), looks=looks)


@cache
def _shares(maximum: int) -> Floats:
    """Return the share at each error of the table, ascending; searches for p need the same ones many times."""
    found = [np.interp(math.log(maximum), np.log(_MAXIMA), column) for column in _SHARES.T]
    return np.array(found[::-1])


def _nominal(error: float, maximum: int) -> float:
    if not _MAXIMA[0] <= maximum <= _MAXIMA[-1]:
        raise ValueError(f"maximum: expected {_MAXIMA[0]} to {_MAXIMA[-1]} rounds · got {maximum}")
    share = float(np.interp(math.log(error), _LOG_ERRORS, _shares(maximum)))
    if error < _ERRORS[-1]:
        share *= (error / _ERRORS[-1]) ** _POWER
    # The share grows to all of it: an error of 1 is a nominal error of 1.
    if error > _ERRORS[0]:
        share += (1.0 - share) * (error - _ERRORS[0]) / (1.0 - _ERRORS[0])
    return error * share
