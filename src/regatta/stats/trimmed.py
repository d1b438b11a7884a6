"""The trimmed mean, with which HBench summarises repetitions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.moments import vector


def trimmed_mean(values: ArrayLike, percent: float) -> float:
    """Mean of what is left when the smallest and the largest values are dropped.

    Args:
        values: shape (n,), any unit.
        percent: how many of all values are dropped at each end, 0 to below 50; a part of a value is none (rounded down).

    Returns:
        In the unit of the values; 0 % gives the mean. NaN for no values, and where one is not a finite number.

    Raises:
        ValueError: `percent` is not from 0 to below 50.

    Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001 (the n %-trimmed mean);
    Wilcox, "Introduction to Robust Estimation and Hypothesis Testing", section 3.3, g = [γn] values from each end.
    """
    if not 0.0 <= percent < 50.0:
        raise ValueError(f"percent: expected a number from 0 to below 50 · got {percent}")
    x = np.sort(vector(values))
    if not x.size or not np.isfinite(x).all():
        return math.nan
    # 10 % of 30 values are 3, whatever the last digit of 0.1 * 30 is.
    dropped = math.floor(percent * x.size / 100.0 + 1e-9)
    kept = x[dropped : x.size - dropped]
    # Halved sums do not overflow, and a mean lies between its extremes.
    mean = float(np.mean(kept / 2.0) * 2.0)
    return min(max(mean, float(kept[0])), float(kept[-1]))
