"""The trimmed mean, by which HBench summarizes repetitions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.moments import vector


def trimmed_mean(values: ArrayLike, percent: float) -> float:
    """Return the mean without the smallest and the largest values.

    Args:
        values: shape (n,), any unit.
        percent: share of all values dropped at each end, 0 to below 50; the number is rounded down.

    Returns:
        In the unit of the values; 0 % gives the mean. NaN for no values, or if one is not finite.

    Raises:
        ValueError: `percent` is not from 0 to below 50.

    Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001 (the n %-trimmed mean); Wilcox,
    "Introduction to Robust Estimation and Hypothesis Testing", section 3.3, g = [γn] values from each end.
    """
    if not 0.0 <= percent < 50.0:
        raise ValueError(f"percent: expected a number from 0 to below 50 · got {percent}")
    x = np.sort(vector(values))
    if not x.size or not np.isfinite(x).all():
        return math.nan
    # 10 % of 30 values are 3, regardless of rounding in 0.1 * 30.
    dropped = math.floor(percent * x.size / 100.0 + 1e-9)
    kept = x[dropped : x.size - dropped]
    # Halved values do not overflow in a sum, and a mean lies between the extremes.
    mean = float(np.mean(kept / 2.0) * 2.0)
    return min(max(mean, float(kept[0])), float(kept[-1]))
