"""Intervals of sums of independent estimates, against the differences of proportions that the paper prints."""

from __future__ import annotations

import math

import pytest

from regatta.stats.mover import distances


def test_distances_of_a_difference_of_proportions_are_the_published_ones() -> None:
    # Newcombe (1998), method 10, example (a): 56/70 and 48/80 with their Wilson limits.
    first, first_low, first_high = 56 / 70, 0.6918, 0.8769
    second, second_low, second_high = 48 / 80, 0.4904, 0.7004
    low, high = distances(
        [(first - first_low, first_high - first), (second_high - second, second - second_low)]
    )
    assert first - second - low == pytest.approx(0.0524, abs=2e-4)
    assert first - second + high == pytest.approx(0.3339, abs=2e-4)


def test_one_source_keeps_its_interval_and_none_has_no_width() -> None:
    assert distances([(1.5, 2.5)]) == (1.5, 2.5)
    assert distances([]) == (0.0, 0.0)
    assert math.isnan(distances([(math.nan, 1.0)])[0])
