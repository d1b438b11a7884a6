"""Compare the distributions of two samples whose values come in clusters, such as the requests of sessions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regatta.stats.estimate import NAN, Floats

_POINTS = 256
_PERMUTATIONS = 999
#: more clusters of a sample are represented by as many, drawn at random
_MOST_CLUSTERS = 4000
#: chance of a larger distance without any difference
_CHANCE = 0.05


@dataclass(frozen=True)
class Distance:
    """The distance of two distributions.

    `distance`: largest difference of their distribution functions, 0 to 1 (Kolmogorov and Smirnov), at 256 quantiles of both
    samples. `chance`: distance that 5 % of the random divisions of all clusters into two samples exceed; NaN if a sample has less
    than two clusters. `p`: share of the divisions with at least this distance.
    """

    distance: float
    chance: float
    p: float

    @property
    def shown(self) -> bool:
        """Return whether a difference is shown."""
        return self.distance > self.chance


def clustered_distance(
    first: tuple[Floats, NDArray[np.int64]],
    second: tuple[Floats, NDArray[np.int64]],
    random: np.random.Generator,
) -> Distance:
    """Return the distance of two samples, and what chance alone explains.

    Clusters are exchanged as a whole, because the values of one are not independent.

    Args:
        first, second: values, and the number of the cluster of each (same length, at least one).
        random: source of the divisions.

    Source: Good, Permutation, Parametric and Bootstrap Tests of Hypotheses (2005), section 3.6 and chapter 8.
    """
    points = np.unique(
        np.quantile(np.concatenate([first[0], second[0]]), np.linspace(0, 1, _POINTS), method="lower")
    )
    distance = float(np.abs(_shares(first[0], points) - _shares(second[0], points)).max())
    tables = [_counts(values, clusters, points, random) for values, clusters in (first, second)]
    if min(len(table) for table in tables) < 2:
        return Distance(distance, NAN, NAN)
    both = np.concatenate(tables)
    total, size = both.sum(axis=0), len(tables[0])
    observed = float(_largest(tables[0].sum(axis=0, keepdims=True), total)[0])
    divisions = np.zeros((_PERMUTATIONS, len(both)), dtype=np.float32)
    for row in divisions:
        row[random.permutation(len(both))[:size]] = 1.0
    found = _largest((divisions @ both.astype(np.float32)).astype(np.float64), total)
    # Of all clusters, not of those that represent them: the distance of chance falls with the root of their number.
    fewer = [len(np.unique(clusters)) for _, clusters in (first, second)]
    shrunk = np.sqrt(_harmonic(len(tables[0]), len(tables[1])) / _harmonic(*fewer))
    chance = float(np.quantile(found, 1 - _CHANCE) * shrunk)
    reference = distance / shrunk if shrunk < 1 else observed
    return Distance(distance, chance, float((1 + (found >= reference).sum()) / (1 + _PERMUTATIONS)))


def _harmonic(first: int, second: int) -> float:
    return first * second / (first + second)


def _shares(values: Floats, points: Floats) -> Floats:
    return np.asarray(np.searchsorted(np.sort(values), points, side="right") / len(values))


def _counts(
    values: Floats, clusters: NDArray[np.int64], points: Floats, random: np.random.Generator
) -> Floats:
    """Return for each of the clusters its number of values in each interval between points."""
    _, numbers = np.unique(clusters, return_inverse=True)
    count = int(numbers.max()) + 1
    if count > _MOST_CLUSTERS:
        place = np.full(count, -1)
        place[random.choice(count, _MOST_CLUSTERS, replace=False)] = np.arange(_MOST_CLUSTERS)
        numbers = place[numbers]
        values, numbers, count = values[numbers >= 0], numbers[numbers >= 0], _MOST_CLUSTERS
    table = np.zeros((count, len(points)))
    np.add.at(table, (numbers, np.searchsorted(points, values, side="left").clip(0, len(points) - 1)), 1.0)
    return table


def _largest(parts: Floats, total: Floats) -> Floats:
    """Return the distance of each part (a row of numbers of values) from the rest of the total."""
    rest = total - parts
    sums = (
        np.maximum(parts.sum(axis=1, keepdims=True), 1e-9),
        np.maximum(rest.sum(axis=1, keepdims=True), 1e-9),
    )
    return np.asarray(
        np.abs(np.cumsum(parts, axis=1) / sums[0] - np.cumsum(rest, axis=1) / sums[1]).max(axis=1)
    )
