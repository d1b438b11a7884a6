"""Contributions of parts to a difference: they add up, and their intervals hold together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regatta.stats.contributions import contributions, unexplained
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval, t_quantile


def test_contributions_add_up_to_the_relative_difference() -> None:
    random = np.random.default_rng(1)
    before, after = random.uniform(1.0, 2.0, (2, 8, 5))
    whole = before.sum(axis=1)
    found = contributions(before, after, whole)
    assert math.fsum(one.point for one in found) == pytest.approx(np.mean(after.sum(axis=1) / whole - 1.0))


def test_intervals_are_those_of_the_mean_at_the_level_of_all_parts() -> None:
    before, after = [[1.0, 9.0], [2.0, 8.0], [1.5, 8.5]], [[1.5, 9.0], [2.7, 8.2], [2.0, 8.4]]
    first, _ = contributions(before, after, [10.0, 10.0, 10.0], 0.9)
    shares = np.array([0.05, 0.07, 0.05])
    half = t_quantile(2, math.sqrt(0.9)) * shares.std(ddof=1) / math.sqrt(3)
    assert (first.point, first.high - first.point) == pytest.approx((shares.mean(), half))
    assert first.level == pytest.approx(math.sqrt(0.9))


def test_a_part_without_any_spread_has_no_interval() -> None:
    (found,) = contributions([[1.0], [1.0]], [[1.0], [1.0]], [2.0, 2.0])
    assert found.reason
    assert math.isnan(found.low)


def test_all_intervals_hold_together_as_often_as_they_say() -> None:
    # 400 trials: the standard error of the rate is 1.1 %.
    random = np.random.default_rng(2)
    truth, held = np.array([0.03, 0.01, 0.0, 0.0, -0.02, 0.0]), 0
    for _ in range(400):
        before = 1.0 / 6.0 + random.normal(0.0, 0.01, (10, 6))
        after = 1.0 / 6.0 + truth + random.normal(0.0, 0.01, (10, 6))
        found = contributions(before, after, np.ones(10))
        held += all(one.low <= true <= one.high for one, true in zip(found, truth, strict=True))
    assert held >= 0.95 * 400 - 3 * math.sqrt(400 * 0.95 * 0.05)


def test_the_rest_has_the_uncertainty_of_both() -> None:
    difference = Interval(10, 0.07, 0.06, 0.09, 0.95, "paired")
    explained = [0.04, 0.05, 0.06]
    mean = mean_interval(explained)
    found = unexplained(difference, explained)
    assert found.point == pytest.approx(0.02)
    assert 0.02 - found.low == pytest.approx(math.hypot(0.01, mean.high - mean.point))
    assert found.high - 0.02 == pytest.approx(math.hypot(0.02, mean.point - mean.low))
