"""What must hold of any data: invariances, edges, coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from helpers.golden import Golden
from regatta.stats.anova import block_anova, one_way
from regatta.stats.intervals import geometric_mean, mean_interval
from regatta.stats.ratios import paired_log_ratio, welch_log_ratio
from regatta.stats.tukey import tukey

pytestmark = pytest.mark.usefixtures("no_warnings")

positive = st.floats(0.001, 1e6)
samples = st.lists(positive, min_size=3, max_size=40)
tables = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6), elements=st.floats(-100, 100)
)


@given(samples, st.floats(-1e3, 1e3), st.floats(0.01, 100.0))
def test_mean_interval_follows_shift_and_scale(values: list[float], shift: float, scale: float) -> None:
    x = np.array(values)
    if np.ptp(x) < 1e-3:
        return
    plain, moved = mean_interval(x), mean_interval(x * scale + shift)
    assert moved.low == pytest.approx(plain.low * scale + shift, rel=1e-6, abs=1e-6)
    assert moved.high == pytest.approx(plain.high * scale + shift, rel=1e-6, abs=1e-6)


@given(samples, st.randoms(use_true_random=False))
def test_mean_interval_does_not_care_about_order(values: list[float], random) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    a, b = mean_interval(values), mean_interval(shuffled)
    if a.reason or b.reason:
        return
    assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=1e-9)


@given(st.lists(st.tuples(positive, positive), min_size=3, max_size=30), st.floats(0.01, 100.0))
def test_ratios_are_reciprocal_and_free_of_the_unit(pairs: list[tuple[float, float]], unit: float) -> None:
    a, b = np.array(pairs).T
    for ratio in (paired_log_ratio, welch_log_ratio):
        there, back = ratio(a, b), ratio(b, a)
        scaled = ratio(a * unit, b * unit)
        if there.interval.reason or scaled.interval.reason:
            continue
        assert there.interval.point * back.interval.point == pytest.approx(1.0)
        if there.interval.low > 0 and there.interval.high < math.inf:
            assert there.interval.low * back.interval.high == pytest.approx(1.0)
        assert there.p == pytest.approx(back.p, abs=1e-12)
        assert scaled.interval.point == pytest.approx(there.interval.point, rel=1e-6)


@given(tables, st.floats(-50, 50))
@settings(deadline=None)
def test_block_anova_ignores_what_is_common_to_a_block(table: np.ndarray, shift: float) -> None:
    plain = block_anova(table)
    moved = block_anova(table + np.linspace(-shift, shift, len(table))[:, None])
    if plain.reason or moved.reason or plain.mean_square_error < 1e-12:
        return
    assert moved.f == pytest.approx(plain.f, rel=1e-5, abs=1e-8)


@given(tables, st.data())
@settings(deadline=None)
def test_block_anova_with_missing_cells_is_least_squares(table: np.ndarray, data: st.DataObject) -> None:
    holes = data.draw(arrays(np.bool_, table.shape))
    y = np.where(holes, np.nan, table)
    fit = block_anova(y)
    kept = (~np.isnan(y)).sum(axis=1) >= 2
    if not kept.any():
        assert fit.reason
        return
    rows, columns = np.nonzero(~np.isnan(y) & kept[:, None])
    blocks = np.eye(len(table))[rows][:, kept]
    alternatives = np.eye(table.shape[1])[columns]
    values = y[rows, columns]

    def error(design: np.ndarray) -> tuple[float, int]:
        solution, _, rank, _ = np.linalg.lstsq(design, values, rcond=1e-10)
        return float(((values - design @ solution) ** 2).sum()), int(rank)

    full, rank = error(np.hstack([blocks, alternatives]))
    only_blocks, rank_blocks = error(blocks)
    assert fit.error == pytest.approx(full, rel=1e-6, abs=1e-6)
    assert fit.between == pytest.approx(only_blocks - full, rel=1e-6, abs=1e-6)
    assert fit.df_between == rank - rank_blocks
    assert fit.df_error == len(values) - rank


@given(st.lists(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=6), max_size=5))
@settings(deadline=None)
def test_no_data_crashes_or_warns(groups: list[list[float]]) -> None:
    for group in groups:
        mean_interval(group)
        geometric_mean(group)
        paired_log_ratio(group, group[::-1])
        for other in groups:
            welch_log_ratio(group, other)


@given(st.lists(st.lists(st.floats(-1e100, 1e100), max_size=6), max_size=5))
@settings(deadline=None)
def test_no_groups_crash_or_warn(groups: list[list[float]]) -> None:
    tukey(one_way(groups))
    widest = max((len(group) for group in groups), default=0)
    table = np.array([group + [math.nan] * (widest - len(group)) for group in groups]).reshape(
        len(groups), widest
    )
    tukey(block_anova(table))


@pytest.mark.parametrize(
    ("values", "point", "reason"),
    [
        ([], math.nan, "no values"),
        ([3.0], 3.0, "has no variance"),
        ([3.0, 3.0, 3.0], 3.0, "all 3 values are equal"),
        ([0.0, 0.0], 0.0, "all 2 values are equal"),
        ([1.0, math.nan], math.nan, "not a finite number"),
        ([1.0, math.inf], math.nan, "not a finite number"),
    ],
)
def test_an_undefined_interval_is_nan_with_a_reason(values: list[float], point: float, reason: str) -> None:
    interval = mean_interval(values)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.point == pytest.approx(point, nan_ok=True)
    assert reason in interval.reason


def test_two_values_have_an_interval_though_a_wide_one() -> None:
    interval = mean_interval([1.0, 2.0])
    assert interval.high - interval.point == pytest.approx(12.7062 * 0.5, abs=1e-4)


def test_values_near_the_ends_of_the_numbers_are_neither_overflow_nor_zero() -> None:
    for scale in (1e300, 1e-300):
        interval = mean_interval(np.array([1.0, 2.0, 3.0]) * scale)
        assert interval.high / scale == pytest.approx(mean_interval([1.0, 2.0, 3.0]).high)


@pytest.mark.parametrize("ratio", [paired_log_ratio, welch_log_ratio])
@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ([], [], "no"),
        ([2.0], [1.0], "has no variance"),
        ([2.0, 2.0], [1.0, 1.0], "variance is unknown"),
        ([0.0, 1.0], [1.0, 2.0], "not positive"),
        ([1.0, 2.0], [-1.0, 2.0], "not positive"),
        ([1.0, math.nan], [1.0, 2.0], "not a finite number"),
    ],
)
def test_an_undefined_ratio_is_nan_with_a_reason(ratio, a: list[float], b: list[float], reason: str) -> None:
    answer = ratio(a, b)
    assert math.isnan(answer.p)
    assert math.isnan(answer.interval.low)
    assert reason in answer.interval.reason


def test_equal_ratios_up_to_rounding_do_not_make_an_interval_of_no_width() -> None:
    b = np.array([1.1, 2.3, 3.7, 4.9])
    assert "variance is unknown" in paired_log_ratio(b * 1.07, b).interval.reason


def test_an_alternative_without_values_leaves_the_others_comparable(golden: Golden) -> None:
    table = np.array([[1.0, 2.0, np.nan], [1.1, 2.3, np.nan], [0.9, 2.1, np.nan]])
    fit = block_anova(table)
    pairs = {(x.first, x.second): x for x in tukey(fit)}
    assert math.isfinite(pairs[0, 1].p)
    golden("a side without values", pairs[0, 2].difference.reason)
    assert (fit.df_between, fit.df_error) == (1, 2)


def test_alternatives_that_never_share_a_block_are_not_compared(golden: Golden) -> None:
    nan = math.nan
    table = [[1, 2, nan, nan], [1.5, 2.2, nan, nan], [nan, nan, 5, 6], [nan, nan, 5.5, 6.1]]
    pairs = {(x.first, x.second): x for x in tukey(block_anova(table))}
    golden("no common block", pairs[0, 2].difference.reason)
    assert math.isfinite(pairs[0, 1].p)


def test_two_alternatives_in_blocks_give_the_paired_t() -> None:
    rng = np.random.default_rng(1)
    a, b = np.exp(rng.normal(size=12)), np.exp(rng.normal(size=12))
    pair = tukey(block_anova(np.log(np.column_stack([a, b]))))[0]
    paired = paired_log_ratio(a, b)
    assert math.exp(pair.difference.low) == pytest.approx(paired.interval.low, rel=1e-8)
    assert pair.p == pytest.approx(paired.p, abs=1e-9)


def test_a_level_outside_its_range_is_an_error_of_the_caller() -> None:
    for level in (0.0, 1.0, 95.0):
        with pytest.raises(ValueError, match="confidence level"):
            mean_interval([1.0, 2.0], level)


def coverage(hits: int, runs: int, nominal: float) -> None:
    """Within four standard errors of a binomial proportion."""
    assert abs(hits / runs - nominal) < 4 * math.sqrt(nominal * (1 - nominal) / runs)


@pytest.mark.parametrize("n", [3, 10, 30])
def test_the_t_interval_covers_95_percent(n: int) -> None:
    rng = np.random.default_rng(20240 + n)
    intervals = [mean_interval(x) for x in rng.normal(10.0, 2.0, (3000, n))]
    coverage(sum(i.low <= 10.0 <= i.high for i in intervals), 3000, 0.95)


def test_the_paired_ratio_covers_95_percent_under_drift() -> None:
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(3000):
        drift = np.exp(np.linspace(0.0, 0.3, 12) + rng.normal(0, 0.05, 12))
        a = 1.02 * drift * np.exp(rng.normal(0, 0.02, 12))
        b = drift * np.exp(rng.normal(0, 0.02, 12))
        interval = paired_log_ratio(a, b).interval
        hits += interval.low <= 1.02 <= interval.high
    coverage(hits, 3000, 0.95)


def test_the_welch_ratio_covers_95_percent_with_unequal_spread() -> None:
    rng = np.random.default_rng(8)
    hits = 0
    for _ in range(3000):
        interval = welch_log_ratio(np.exp(rng.normal(0.1, 0.1, 20)), np.exp(rng.normal(0, 0.02, 10))).interval
        hits += interval.low <= math.exp(0.1) <= interval.high
    coverage(hits, 3000, 0.95)


@pytest.mark.full
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_tukey_keeps_the_family_error_at_5_percent(missing: float) -> None:
    rng = np.random.default_rng(9)
    alarms = 0
    for _ in range(1500):
        table = rng.normal(0, 1, (10, 1)) + rng.normal(0, 0.3, (10, 4))
        table[rng.random(table.shape) < missing] = np.nan
        alarms += any(
            not pair.difference.low <= 0 <= pair.difference.high for pair in tukey(block_anova(table))
        )
    coverage(alarms, 1500, 0.05)
