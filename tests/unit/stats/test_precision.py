"""Widths of intervals against n, by hand and by the interval itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regatta.stats.intervals import mean_interval
from regatta.stats.precision import interval_widths, invocations_needed, invocations_until


def test_the_width_is_that_of_the_interval_over_the_mean() -> None:
    values = np.random.default_rng(1).normal(100.0, 2.0, 12)
    widths = interval_widths(values, 0.9)
    assert math.isnan(widths[0])
    for n in range(2, 13):
        interval = mean_interval(values[:n], 0.9)
        assert widths[n - 1] == pytest.approx((interval.high - interval.low) / interval.point)


def test_values_without_spread_and_means_below_zero_have_no_width() -> None:
    assert np.isnan(interval_widths(np.array([3.0, 3.0, 3.0]))).all()
    assert np.isnan(interval_widths(np.array([-1.0, -2.0]))).all()
    assert interval_widths(np.array([])).shape == (0,)
    assert np.isnan(interval_widths(np.array([1.0]))).tolist() == [True]


def test_the_first_narrow_width_from_the_least_n_on_counts() -> None:
    widths = np.array([math.nan, 0.001, 0.05, 0.03, 0.02, 0.04])
    assert invocations_until(widths, 0.02) == 5
    assert invocations_until(widths, 0.02, least=2) == 2
    assert invocations_until(widths, 0.01) == 0
    assert invocations_until(widths[:2], 0.02) == 0


def test_the_number_needed_follows_from_the_variation() -> None:
    # 2 · t(0.975; 17) · 0.02 / √18 = 0.01989, and with 17 it is 0.02057.
    assert invocations_needed(0.02, 0.02) == 18
    assert invocations_needed(1e-6, 0.02) == 2
    assert invocations_needed(0.05, 0.02) == 31
    assert invocations_needed(0.05, 0.02, maximum=10) == 11
    assert invocations_needed(math.nan, 0.02) == 0
