"""Average several series within each round: values of one round share its conditions and are not independent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np

from regatta.answers.spine.parts import Sample
from regatta.answers.spine.samples import Series
from regatta.stats.estimate import Floats

#: why a mean over several benchmarks has no variance
FEW_ROUNDS = "fewer than 2 rounds with all benchmarks"


def round_means(series: Sequence[Series]) -> Floats:
    """Return the mean logarithm over several series of each round that has a value of all of them, in the order of rounds.

    Args:
        series: at least one, on one host; values > 0. A round that several plans have counts once, with its mean.
    """
    return _means([[(one.round, math.log(one.value)) for one in own.samples] for own in series])


def relative_round_means(series: Sequence[Sequence[Sample]]) -> Floats:
    """Return the same of values relative to the mean of their series, without logarithms."""
    means = [fmean(one.value for one in own) for own in series]
    return _means(
        [[(one.round, one.value / mean) for one in own] for own, mean in zip(series, means, strict=True)]
    )


def _means(series: Sequence[Sequence[tuple[int, float]]]) -> Floats:
    by_round: list[dict[int, list[float]]] = []
    for values in series:
        own: dict[int, list[float]] = {}
        for number, value in values:
            own.setdefault(number, []).append(value)
        by_round.append(own)
    complete = sorted(set(by_round[0]).intersection(*by_round[1:]))
    return np.array([fmean(fmean(own[number]) for own in by_round) for number in complete], dtype=np.float64)
