"""The median by ranks and the BCa bootstrap, against R's ranks and boot.ci."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.golden import Golden
from regatta.stats.bca import BCA, LEAST_RESAMPLES, _count_matrix, _means, bca_means
from regatta.stats.estimate import Interval
from regatta.stats.median import median_interval, median_ranks

pytestmark = pytest.mark.usefixtures("no_warnings")

R = json.loads((Path(__file__).parents[2] / "reference/intervals.json").read_text())

samples = st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=30)


def seeded() -> np.random.Generator:
    return np.random.default_rng(5)


# --- median


@pytest.mark.parametrize("expected", R["median"] + R["median_99"], ids=lambda e: f"{e['n']}-{e['level']}")
def test_the_ranks_of_the_median_agree_with_rs_binomial(expected) -> None:
    low, high, coverage = median_ranks(expected["n"], expected["level"])
    assert (low, high) == (expected["low"], expected["high"])
    assert coverage == pytest.approx(expected["coverage"], rel=1e-12)


def test_the_ranks_of_many_values_are_the_narrowest_that_cover_enough() -> None:
    low, high, coverage = median_ranks(10**7)
    assert (low, high) == (4996901, 5003100)
    assert 0.95 <= coverage < 0.9501


def test_the_median_of_ten_values_lies_between_the_second_and_the_ninth() -> None:
    interval = median_interval([7, 3, 1, 9, 2, 10, 4, 6, 8, 5])
    assert (interval.n, interval.point, interval.low, interval.high) == (10, 5.5, 2.0, 9.0)
    assert interval.method == "binomial-ranks"


@pytest.mark.parametrize(
    ("values", "point", "reason"),
    [
        ([], math.nan, "no values"),
        ([3.0], 3.0, "has no variance"),
        ([3.0, 1.0], 2.0, "no interval of 2 values"),
        ([5.0, 1.0, 2.0, 4.0, 3.0], 3.0, "no interval of 5 values"),
        ([2.0] * 20, 2.0, "all 20 values are equal"),
        ([1.0, math.nan] * 10, math.nan, "not a finite number"),
    ],
)
def test_an_undefined_median_interval_is_nan_with_a_reason(values, point: float, reason: str) -> None:
    interval = median_interval(values)
    assert interval.point == pytest.approx(point, nan_ok=True)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert reason in interval.reason


def test_too_few_values_for_an_interval_of_the_median_are_named_with_the_level(golden: Golden) -> None:
    golden("5 values", median_interval([5.0, 1.0, 2.0, 4.0, 3.0]).reason)


def test_the_median_of_values_near_the_end_of_the_numbers_does_not_overflow() -> None:
    assert median_interval([1.7e308, 1.6e308] * 4).point == pytest.approx(1.65e308)


@given(samples, st.randoms(use_true_random=False))
def test_the_median_follows_any_monotone_change_and_no_order(values: list[float], random) -> None:
    plain = median_interval(values)
    shuffled = list(values)
    random.shuffle(shuffled)
    assert median_interval(shuffled) == plain
    if plain.reason:
        return
    mirrored = median_interval([-value for value in values])
    assert (mirrored.low, mirrored.high) == (-plain.high, -plain.low)
    bent = median_interval(np.cbrt(values))
    if not bent.reason:
        assert (bent.low, bent.high) == (np.cbrt(plain.low), np.cbrt(plain.high))


def test_the_median_covers_what_its_ranks_say() -> None:
    rng = np.random.default_rng(21)
    hits = [median_interval(x) for x in rng.lognormal(0, 1, (4000, 10))]
    share = sum(i.low <= 1.0 <= i.high for i in hits) / 4000
    assert abs(share - 0.978515625) < 4 * math.sqrt(0.9785 * 0.0215 / 4000)


# --- BCa


def bca_of(values, resamples: int = 9999, level: float = 0.95) -> Interval:
    found = bca_means([list(values)], level, resamples, generator=seeded())
    low, high = float(found.low[0]), float(found.high[0])
    return Interval(len(values), float(found.point[0]), low, high, level, BCA, found.reasons[0])


def test_bca_agrees_with_r_on_given_resamples() -> None:
    expected = R["bca"]["mean"]
    values, drawn = np.array([expected["values"]]), np.array(expected["indices"])
    counts = _count_matrix(drawn, values.shape[1])
    found = _means(values, expected["level"], lambda: [counts], len(drawn))
    assert found.point[0] == pytest.approx(expected["point"], rel=1e-12)
    assert (found.low[0], found.high[0]) == pytest.approx((expected["low"], expected["high"]), rel=1e-9)


def test_many_cells_give_what_each_gives_alone() -> None:
    table = np.random.default_rng(6).lognormal(0, 1, (300, 12))
    together = bca_means(table, resamples=999, generator=seeded())
    for cell in (0, 150, 299):
        alone = bca_of(table[cell], 999)
        assert (together.low[cell], together.high[cell]) == pytest.approx((alone.low, alone.high), rel=1e-12)
        assert together.point[cell] == pytest.approx(table[cell].mean(), rel=1e-14)


def test_resamples_that_do_not_fit_together_in_memory_are_the_same_for_every_cell() -> None:
    table = np.random.default_rng(6).normal(0, 1, (2, 4000))
    both = bca_means(np.vstack([table, table]), resamples=1999, generator=seeded())
    assert both.low[0] == both.low[2]
    assert both.high[1] == both.high[3]
    # With so many values t and BCa agree, but for the luck of so few resamples.
    half = 1.9606 * table[0].std(ddof=1) / math.sqrt(4000)
    assert both.high[0] - both.point[0] == pytest.approx(half, rel=0.15)


def test_nist_numacc4_keeps_its_digits() -> None:
    values = np.array([10000000.2] + [10000000.1, 10000000.3] * 500)
    interval = bca_of(values)
    assert interval.point == pytest.approx(10000000.2, rel=1e-15)
    small = bca_of(values - 10000000.2)
    assert interval.low - 10000000.2 == pytest.approx(small.low, abs=1e-8)
    assert interval.high - 10000000.2 == pytest.approx(small.high, abs=1e-8)


@given(samples, st.floats(-1e3, 1e3), st.floats(0.01, 100.0))
@example([2.0, 3.0, 0.0, 0.0, 0.0, 0.0], 0.0, 1.0)
@settings(deadline=None, max_examples=50)
def test_bca_follows_shift_and_scale(values: list[float], shift: float, scale: float) -> None:
    x = np.array(values)
    if np.ptp(x) < 1.0:
        return
    plain = bca_of(x, 199)
    moved = bca_of(x * scale + shift, 199)
    if plain.reason or moved.reason:
        return
    tolerance = 1e-7 * np.ptp(x) * scale + 1e-6
    assert moved.low == pytest.approx(plain.low * scale + shift, abs=tolerance)
    assert moved.high == pytest.approx(plain.high * scale + shift, abs=tolerance)
    assert x.min() <= plain.low < plain.high <= x.max()


def test_bca_of_permuted_values_differs_only_by_the_luck_of_the_draw() -> None:
    x = np.random.default_rng(7).lognormal(0, 0.5, 30)
    plain, turned = (bca_of(v) for v in (x, x[::-1]))
    assert turned.low == pytest.approx(plain.low, rel=0.02)
    assert turned.high == pytest.approx(plain.high, rel=0.02)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "no values"),
        ([3.0], "has no variance"),
        ([3.0, 4.0], "too few different resamples"),
        ([3.0, 4.0, 5.0, 6.0], "too few different resamples"),
        ([3.0] * 8, "all 8 values are equal"),
        ([1.0, 2.0, 3.0, 4.0, 5.0, math.nan], "not a finite number"),
        ([1.0, 2.0, 3.0, 4.0, 5.0, math.inf], "not a finite number"),
    ],
)
def test_an_undefined_bca_interval_is_nan_with_a_reason(values, reason: str) -> None:
    interval = bca_of(values, 99)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert reason in interval.reason


def test_cells_without_an_interval_leave_the_others_alone() -> None:
    table = np.array([[1.0] * 6, [1, 2, 3, 4, 5, 9.0], [1, 2, 3, 4, 5, math.nan]])
    found = bca_means(table, resamples=999, generator=seeded())
    assert found.point[:2].tolist() == [1.0, 4.0]
    assert np.isnan(found.point[2])
    assert [bool(reason) for reason in found.reasons] == [True, False, True]
    assert math.isfinite(found.low[1])
    assert np.isnan(found.low[[0, 2]]).all()
    assert bca_means(np.empty((2, 0)), resamples=99, generator=seeded()).reasons == ("no values",) * 2


def test_values_near_the_ends_of_the_numbers_are_neither_overflow_nor_zero() -> None:
    x = np.array([1.0, 2.0, 4.0, 5.0, 9.0, 9.5])
    plain = bca_of(x)
    for scale in (1e307, 1e-300):
        found = bca_of(x * scale)
        assert (found.low / scale, found.high / scale) == pytest.approx((plain.low, plain.high))


def test_a_wrong_call_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="resamples: expected at least 99"):
        bca_of([1.0, 2.0, 3.0], LEAST_RESAMPLES - 1)
    with pytest.raises(ValueError, match="confidence level"):
        bca_of([1.0, 2.0, 3.0], level=95)
    with pytest.raises(ValueError, match="table: expected shape"):
        bca_means([1.0, 2.0, 3.0], generator=seeded())


@pytest.mark.parametrize(("n", "nominal"), [(5, 0.84), (30, 0.935)])
def test_bca_covers_less_than_asked_at_small_n_as_its_documentation_says(n: int, nominal: float) -> None:
    rng = np.random.default_rng(22)
    found = bca_means(rng.normal(0, 1, (2000, n)), resamples=999, generator=rng)
    share = float(((found.low <= 0) & (found.high >= 0)).mean())
    assert abs(share - nominal) < 4 * math.sqrt(nominal * (1 - nominal) / 2000)
