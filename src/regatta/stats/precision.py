"""How narrow the interval of a mean becomes with more invocations, and how many make it as narrow as is wanted."""

from __future__ import annotations

import math

import numpy as np

from regatta.stats.estimate import Floats, check_level, only_rounding
from regatta.stats.intervals import t_quantile


def interval_widths(values: Floats, level: float = 0.95) -> Floats:
    """The width of the mean's interval after each further value, relative to the mean.

    Args:
        values: shape (n,), in the order in which they were measured, of one unit.
        level: confidence, between 0 and 1.

    Returns:
        Shape (n,): entry i rests on the first i + 1 values: 2 · t(1 - α/2; i) · s / √(i + 1) over the mean; 0.02 is 2 %.
        NaN for the first, where the values so far have no spread, and where the mean is not positive.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Georges, Buytaert, Eeckhout, OOPSLA 2007, section 6.3 and figure 16.
    """
    check_level(level)
    widths = np.full(len(values), math.nan)
    if len(values) < 2 or not np.isfinite(values).all():
        return widths
    # Sums of deviations from one middle: nothing is lost where the spread is small beside the mean.
    middle = float(values.mean())
    deviations = values - middle
    n = np.arange(1, len(values) + 1)
    sums, squares = np.cumsum(deviations), np.cumsum(deviations**2)
    means = middle + sums / n
    variances = np.maximum(squares[1:] - sums[1:] ** 2 / n[1:], 0.0) / (n[1:] - 1)
    for i, (mean, spread) in enumerate(zip(means[1:].tolist(), np.sqrt(variances).tolist(), strict=True), 2):
        if mean > 0.0 and not only_rounding(spread, mean):
            widths[i - 1] = 2.0 * t_quantile(i - 1, level) * spread / math.sqrt(i) / mean
    return widths


def invocations_until(widths: Floats, wanted: float, least: int = 3) -> int:
    """After how many values the interval was first as narrow as wanted; 0 where it never was.

    Args:
        widths: from `interval_widths`.
        wanted: the relative width, > 0; 0.02 is 2 %.
        least: it is not looked at before so many values.
    """
    narrow = np.flatnonzero(widths[least - 1 :] <= wanted)
    return int(narrow[0]) + least if len(narrow) else 0


def invocations_needed(variation: float, wanted: float, level: float = 0.95, maximum: int = 30) -> int:
    """How many values make the interval as narrow as wanted, given how much they vary; `maximum` + 1 where more than that.

    Args:
        variation: coefficient of variation, > 0; NaN gives 0, which says that nothing is known.
        wanted: the relative width of the whole interval, > 0; 0.02 is 2 %.
        level: confidence, between 0 and 1.
        maximum: beyond which it is not looked.

    Raises:
        ValueError: `level` is not between 0 and 1.
    """
    check_level(level)
    if math.isnan(variation):
        return 0
    for n in range(2, maximum + 1):
        if 2.0 * t_quantile(n - 1, level) * variation / math.sqrt(n) <= wanted:
            return n
    return maximum + 1
