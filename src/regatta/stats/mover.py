"""Intervals of sums of independent estimates (MOVER: the method of variance estimates recovery).

Source: G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a general approach",
Statistics in Medicine 27 (2008) 1693-1702.
"""

from __future__ import annotations

import math
from collections.abc import Iterable


def distances(effects: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return how far the interval of a sum reaches below and above it.

    Args:
        effects: of each independent source, how far its own interval reaches below and above, in units of the sum. NaN: unknown.

    Returns:
        On each side the square root of the sum of squares; 0 without sources.
    """
    low = high = 0.0
    for below, above in effects:
        low += below**2
        high += above**2
    return math.sqrt(low), math.sqrt(high)
