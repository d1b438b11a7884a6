"""The width of the interval of a mean as invocations are added, and the number of invocations for a wanted width."""

from __future__ import annotations

import math

import numpy as np

from regatta.stats.estimate import Floats, check_level, only_rounding
from regatta.stats.intervals import t_quantile


def interval_widths(values: Floats, level: float = 0.95) -> Floats:
    """Return the width of the interval of the mean after each further value, relative to the mean.

    Args:
        values: shape (n,), in the order of measurement, in one unit.
        level: confidence, between 0 and 1.

    Returns:
        Shape (n,): entry i uses the first i + 1 values: 2 · t(1 - α/2; i) · s / √(i + 1) over the mean; 0.02 is 2 %. NaN for
        the first value, without spread so far, or if the mean is not positive.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Georges, Buytaert, Eeckhout, OOPSLA 2007, section 6.3 and figure 16.
    """
    check_level(level)
    widths = np.full(len(values), math.nan)
    if len(values) < 2 or not np.isfinite(values).all():
        return widths
    # Sums of deviations from one center keep precision if the spread is small relative to the mean.
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
    """Return the number of values after which the interval first had the wanted width; 0 if it never did.

    Args:
        widths: from `interval_widths`.
        wanted: the relative width, > 0; 0.02 is 2 %.
        least: minimum number of values to consider.
    """
    narrow = np.flatnonzero(widths[least - 1 :] <= wanted)
    return int(narrow[0]) + least if len(narrow) else 0


def invocations_needed(variation: float, wanted: float, level: float = 0.95, maximum: int = 30) -> int:
    """Return the number of values for the wanted width, given their variation; `maximum` + 1 if more are needed.

    Args:
        variation: coefficient of variation, > 0; NaN gives 0, which means unknown.
        wanted: the relative width of the whole interval, > 0; 0.02 is 2 %.
        level: confidence, between 0 and 1.
        maximum: maximum number of values to consider.

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
