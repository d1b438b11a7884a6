"""Dispersion of values around their mean: coefficient of variation, minimum and maximum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.estimate import NAN
from regatta.stats.moments import standard_deviation, vector


@dataclass(frozen=True)
class Dispersion:
    """How far values spread.

    `cv_percent`: standard deviation (n - 1) in percent of the mean; NaN below two values, or with a mean <= 0.
    `minimum`, `maximum`: in the unit of the values; NaN without a value.
    """

    cv_percent: float = NAN
    minimum: float = NAN
    maximum: float = NAN


def dispersion(values: ArrayLike) -> Dispersion:
    """Return the dispersion of n values in any unit.

    Source: Georges, Buytaert and Eeckhout (OOPSLA 2007), section 6.1: the standard deviation divided by the mean.
    """
    x = vector(values)
    if not x.size:
        return Dispersion()
    low, high = float(x.min()), float(x.max())
    # Division by the largest value keeps sums of large values finite.
    scale = max(abs(low), abs(high))
    mean = scale * float((x / scale).mean()) if 0 < scale < np.inf else NAN
    return Dispersion(100 * (standard_deviation(x) / mean) if mean > 0 else NAN, low, high)
