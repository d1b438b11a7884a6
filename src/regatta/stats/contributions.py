"""What parts of a time contribute to its difference between two sides, from rounds in which both were profiled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval
from regatta.stats.mover import distances
from regatta.stats.multiplicity import sidak_level

#: name of the method of intervals that hold for all parts together
SIMULTANEOUS = "t, simultaneous"


def contributions(
    before: ArrayLike, after: ArrayLike, whole: ArrayLike, level: float = 0.95
) -> list[Interval]:
    """Return the contribution of each part to the relative difference of the whole time.

    Args:
        before, after: shape (rounds, parts): the time of each part on either side, >= 0, in any unit.
        whole: shape (rounds,): the whole time of the first side, > 0, in the same unit.
        level: confidence with which the intervals of all parts hold together, between 0 and 1.

    Returns:
        For each part the mean over the rounds of (after - before) / whole, as a share, with Student's interval at the level
        level^(1/parts). The contributions of all parts of a time add up to the mean of its relative difference.

    Raises:
        ValueError: `level` is not between 0 and 1.

    Source: Sidak, "Rectangular confidence regions for the means of multivariate normal distributions", JASA 62 (1967).
    """
    a, b, total = (np.asarray(values, dtype=np.float64) for values in (before, after, whole))
    shares = (b - a) / total[:, np.newaxis]
    each = sidak_level(level, max(1, shares.shape[1]))
    return [mean_interval(part, each, SIMULTANEOUS) for part in shares.T]


def unexplained(difference: Interval, explained: Sequence[float], level: float = 0.95) -> Interval:
    """Return what is left of a difference after an explanation that was measured separately.

    Args:
        difference: with its interval, as a share.
        explained: shape (rounds,): the sum of the contributions that explain it, in each round, as shares.
        level: confidence, between 0 and 1; that of `difference`.

    Returns:
        The difference minus the mean of `explained`; each end by the method of variance estimates recovery (`mover`).

    Raises:
        ValueError: `level` is not between 0 and 1.
    """
    mean = mean_interval(explained, level)
    below, above = distances(
        [
            (difference.point - difference.low, difference.high - difference.point),
            (mean.high - mean.point, mean.point - mean.low),
        ]
    )
    point = difference.point - mean.point
    return Interval(min(difference.n, mean.n), point, point - below, point + above, level, "mover")
