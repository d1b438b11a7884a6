"""The interval of a positive quantity's mean never reaches below 0, and every other interval stays as it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from regatta.host.units import is_positive
from regatta.stats.intervals import CUT_AT_ZERO, GEORGES_2007, LOG_SCALE, mean_interval

WIDE = [1.0, 2.0, 57.0]


def test_an_interval_that_would_reach_zero_is_made_on_the_log_scale() -> None:
    mean, deviation = np.mean(WIDE), np.std(WIDE, ddof=1)
    reach = student.ppf(0.975, 2) * deviation / (math.sqrt(3) * mean)
    found = mean_interval(WIDE, positive=True)
    assert found.method == "t" + LOG_SCALE == "t, log scale"
    assert found.point == pytest.approx(mean)
    assert found.low == pytest.approx(mean * math.exp(-reach))
    assert found.high == pytest.approx(mean * math.exp(reach))
    assert mean_interval(WIDE).low < 0.0 < found.low


@pytest.mark.parametrize("values", [[0.0, 2.0, 57.0], [1.0, 59.0]], ids=["a zero", "two values"])
def test_what_has_no_useful_logarithms_is_cut_at_zero(values: list[float]) -> None:
    plain, found = mean_interval(values), mean_interval(values, positive=True)
    assert plain.low < 0.0
    assert (found.low, found.high, found.method) == (0.0, plain.high, "t" + CUT_AT_ZERO)


@pytest.mark.parametrize(
    "values",
    [[10.0, 11.0, 12.0], [-1.0, 2.0, 57.0], [-3.0, -2.0, -57.0], [5.0], [5.0, 5.0], [0.0, 0.0], []],
    ids=["above zero", "a negative value", "all negative", "one value", "no spread", "zeros", "nothing"],
)
def test_every_other_interval_is_the_plain_one_digit_for_digit(values: list[float]) -> None:
    assert repr(mean_interval(values, positive=True)) == repr(mean_interval(values))


def test_the_papers_way_stays_the_papers() -> None:
    assert mean_interval(WIDE, 0.95, GEORGES_2007, True) == mean_interval(WIDE, 0.95, GEORGES_2007)


def test_scale_moves_both_edges_and_nothing_overflows() -> None:
    plain = mean_interval(WIDE, positive=True)
    for exponent in (-1000, 1000):
        moved = mean_interval(np.ldexp(WIDE, exponent), positive=True)
        assert (moved.low, moved.high) == (math.ldexp(plain.low, exponent), math.ldexp(plain.high, exponent))
    extreme = mean_interval([1e-9, 1e-9, 1.0], 0.999999, positive=True)
    assert 0.0 <= extreme.low < extreme.high < math.inf
    assert extreme.method == "t" + CUT_AT_ZERO


def test_it_covers_no_less_than_the_plain_interval() -> None:
    generator = np.random.default_rng(20070101)
    covered = {True: 0, False: 0}
    for x in generator.exponential(1.0, (4000, 3)):
        for positive in covered:
            found = mean_interval(x, positive=positive)
            covered[positive] += found.low <= 1.0 <= found.high
    assert covered[True] > covered[False] + 100


def test_times_sizes_counts_and_rates_are_positive_and_shares_need_not_be() -> None:
    assert all(is_positive(unit) for unit in ("ns", "s", "KiB", "count", "ops/s", "MB/s", "MHz"))
    assert not any(is_positive(unit) for unit in ("percent", "ratio", "degrees", ""))
