"""Remove the difference between the halves of a host from the ratios of alternatives that swap them every round. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: with fewer rounds, ratios stay as they are: the difference of the halves is then part of their variance
LEAST_ROUNDS, LEAST_OF_SIDE = 10, 3


def without_halves(differences: Sequence[float], sides: Sequence[int]) -> list[float]:
    """Return differences of logarithms without the part that depends on which alternative had which half.

    Least squares fit a mean and the effect of the half. The deviations of the result are stretched, so that a paired
    t interval with n - 1 degrees of freedom is at least as wide as that of the fit, with n - 2, at levels of up to 99.9 %.

    Args:
        differences: one per round.
        sides: 1 where the first alternative had half 0, else -1.

    Returns:
        As many differences; unchanged if there are fewer than `LEAST_ROUNDS`, or `LEAST_OF_SIDE` of one side.
    """
    n, apart = len(differences), sum(sides)
    each = [[d for d, side in zip(differences, sides) if side == wanted] for wanted in (1, -1)]
    if n < LEAST_ROUNDS or min(map(len, each)) < LEAST_OF_SIDE:
        return list(differences)
    first, second = (math.fsum(own) / len(own) for own in each)
    mean = (first + second) / 2.0
    # The fitted mean is less certain if one side has more rounds.
    stretched = (n - 1) / (n - 2) * n / math.sqrt(n * n - apart * apart)
    return [mean + stretched * (d - (first if side > 0 else second)) for d, side in zip(differences, sides)]
