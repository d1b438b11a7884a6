"""Variance by level, and one ratio over a suite."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import stats

from helpers.golden import Golden
from helpers.one_at_a_time import variance_levels
from regatta.stats.intervals import geometric_mean
from regatta.stats.levels import levels_of, optimal_repetitions, time_for_precision
from regatta.stats.ratios import welch_log_ratio
from regatta.stats.suite_mean import Together, suite_ratio

pytestmark = pytest.mark.usefixtures("no_warnings")

R = json.loads((Path(__file__).parents[2] / "reference/intervals.json").read_text())
# Kalibera and Jones: three builds (rows) of two invocations of two iterations
KALIBERA = np.array([[[9, 5], [8, 3]], [[10, 6], [7, 11]], [[1, 12], [2, 4]]], dtype=float)

nested = arrays(
    np.float64,
    array_shapes(min_dims=1, max_dims=4, min_side=2, max_side=4),
    elements=st.integers(-1000, 1000).map(float),
)


# --- levels


def test_the_variances_of_kaliberas_worked_example() -> None:
    levels = variance_levels(KALIBERA)
    assert levels.counts == (2, 2, 3)
    assert [round(value, 1) for value in levels.s_squared] == [16.5, 2.6, 3.6]
    assert [round(value, 1) for value in levels.t_squared] == [16.5, -5.7, 2.3]
    assert levels.reason == ""


def test_repetitions_follow_costs_and_variances() -> None:
    rng = np.random.default_rng(31)
    shape = (200, 20, 10)
    values = rng.normal(0, 1, (200, 1, 1)) + rng.normal(0, 2, (200, 20, 1)) + rng.normal(0, 5, shape)
    levels = variance_levels(values)
    assert levels.t_squared == pytest.approx((25, 4, 1), rel=0.2)
    found = optimal_repetitions(levels, [1, 9, 100])
    expected = [
        math.sqrt(9 * levels.t_squared[0] / levels.t_squared[1]),
        math.sqrt(100 / 9 * levels.t_squared[1] / levels.t_squared[2]),
    ]
    assert [r.count for r in found] == [math.ceil(value) for value in expected]
    assert [r.count for r in found] == pytest.approx([8, 7], abs=1)


def test_the_time_for_a_precision_is_that_of_a_simulation() -> None:
    """Invocations of 2 or 12 iterations in the same time: the variances of both means have the ratio of the times."""
    rng = np.random.default_rng(7)
    within, between, costs = 4.0, 1.0, (1.0, 10.0)
    spent = 12 * 22 * 100

    def variance_of_the_mean(iterations: int) -> float:
        invocations = round(spent / (costs[0] * iterations + costs[1]))
        shape = (4000, invocations)
        means = rng.normal(0, math.sqrt(between), shape) + rng.normal(
            0, math.sqrt(within / iterations), shape
        )
        return float(means.mean(axis=1).var())

    expected = variance_of_the_mean(12) / variance_of_the_mean(2)
    found = time_for_precision((within, between), costs, 12, 2)
    # A variance of 4000 values has a relative error of 2.2 %.
    assert found == pytest.approx(expected, rel=0.12)
    assert found == pytest.approx((4 / 12 + 1) * 22 / ((4 / 2 + 1) * 12))


@given(st.floats(0.001, 1000), st.floats(0.001, 1000), st.floats(0.001, 1000))
def test_no_number_of_iterations_needs_much_less_time_than_the_best(
    within: float, between: float, start: float
) -> None:
    levels = levels_of((2, 2), (within, between + within / 2))
    (best,) = optimal_repetitions(levels, (1.0, start))
    for other in (best.count - 1, best.count + 1, 2 * best.count):
        if other >= 1:
            # The best number is rounded up.
            least = 1.0 / (1.0 + 1.0 / best.count) ** 2
            assert time_for_precision(levels.t_squared, (1.0, start), other, best.count) > 0.999 * least


def test_a_level_without_variance_of_its_own_is_repeated_once_and_the_one_below_as_often_as_one_likes(
    golden: Golden,
) -> None:
    found = optimal_repetitions(variance_levels(KALIBERA), [1, 10, 100])
    assert [r.count for r in found] == [math.inf, 1.0]
    golden("no variance of its own", found[0].reason)


def test_a_level_with_one_repetition_has_no_variance_to_tell(golden: Golden) -> None:
    levels = variance_levels(np.arange(6.0).reshape(3, 1, 2))
    assert math.isnan(levels.s_squared[1])
    assert math.isnan(levels.t_squared[1])
    assert math.isnan(levels.t_squared[2])
    assert levels.s_squared[2] == pytest.approx(4.0)
    golden("one repetition", levels.reason)
    assert all(math.isnan(r.count) and r.reason for r in optimal_repetitions(levels, [1, 1, 1]))


def test_a_wrong_call_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="costs"):
        optimal_repetitions(variance_levels(KALIBERA), [1, 2])
    with pytest.raises(ValueError, match="costs"):
        optimal_repetitions(variance_levels(KALIBERA), [1, 2, 0])


# --- suite


def test_a_suite_of_equal_variances_by_hand() -> None:
    logs = [0.0, 0.1, 0.2]
    found = suite_ratio(logs, [0.0009] * 3, [9] * 3)
    # √(3 · 0.0009)/3 = 0.01732, ν = 27, t(.975; 27) = 2.051831
    assert math.log(found.these.point) == pytest.approx(0.1)
    assert math.log(found.these.high) == pytest.approx(0.1 + 2.051831 * math.sqrt(0.0027) / 3, abs=1e-7)
    # s = 0.1, t(.975; 2) = 4.302653
    assert math.log(found.like_these.low) == pytest.approx(0.1 - 4.302653 * 0.1 / math.sqrt(3), abs=1e-7)
    assert found.these.n == found.like_these.n == 3
    assert found.like_these.low == pytest.approx(geometric_mean(np.exp(logs)).low)


def test_one_benchmark_is_welchs_interval_for_itself_and_nothing_for_others() -> None:
    rng = np.random.default_rng(35)
    a, b = np.exp(rng.normal(0.1, 0.1, 12)), np.exp(rng.normal(0, 0.2, 20))
    welch = welch_log_ratio(a, b)
    variance = np.log(a).var(ddof=1) / 12 + np.log(b).var(ddof=1) / 20
    found = suite_ratio([math.log(welch.interval.point)], [variance], [welch.df])
    assert (found.these.low, found.these.high) == pytest.approx((welch.interval.low, welch.interval.high))
    assert found.like_these.point == pytest.approx(welch.interval.point)
    assert math.isnan(found.like_these.low)
    assert "does not represent others" in found.like_these.reason


def test_variances_that_are_known_take_the_normal_distribution() -> None:
    found = suite_ratio([0.0, 0.0], [0.01, 0.01], [math.inf, math.inf])
    assert math.log(found.these.high) == pytest.approx(1.959964 * math.sqrt(0.02) / 2, abs=1e-7)
    assert "all 2 values are equal" in found.like_these.reason


@pytest.mark.parametrize(
    ("logs", "variances", "dfs", "reason"),
    [
        ([], [], [], "no benchmarks"),
        ([0.1, math.nan], [0.1, 0.1], [5, 5], "not a finite number"),
        ([0.1, 0.2], [0.1, math.nan], [5, 5], "1 of 2 benchmarks"),
        ([0.1, 0.2], [0.1, 0.0], [5, 5], "1 of 2 benchmarks"),
        ([0.1, 0.2], [0.1, 0.1], [5, math.nan], "1 of 2 benchmarks"),
        ([0.1], [math.nan], [5], "the benchmark is unknown"),
    ],
)
def test_an_undefined_suite_ratio_is_nan_with_a_reason(logs, variances, dfs, reason: str) -> None:
    found = suite_ratio(logs, variances, dfs).these
    assert math.isnan(found.low)
    assert reason in found.reason


def test_ratios_beyond_the_numbers_do_not_crash() -> None:
    found = suite_ratio([1000.0, 1001.0], [0.1, 0.1], [5, 5])
    assert found.these.point == math.inf


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(1e-6, 1), st.floats(1, 50)), min_size=2, max_size=9),
    st.floats(-1, 1),
)
@settings(deadline=None)
def test_a_suite_ratio_follows_a_common_factor_and_no_order(rows, shift: float) -> None:
    logs, variances, dfs = np.array(rows).T
    plain, moved = (
        suite_ratio(logs, variances, dfs),
        suite_ratio(logs[::-1] + shift, variances[::-1], dfs[::-1]),
    )
    assert moved.these.low == pytest.approx(plain.these.low * math.exp(shift), rel=1e-6)
    if not (plain.like_these.reason or moved.like_these.reason) and np.ptp(logs) > 1e-6:
        assert moved.like_these.high == pytest.approx(plain.like_these.high * math.exp(shift), rel=1e-6)


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(1e-6, 1), st.floats(1, 50)), min_size=2, max_size=9),
)
@settings(deadline=None)
def test_both_intervals_of_independent_ratios_have_one_mean_to_the_last_digit(rows) -> None:
    logs, variances, dfs = np.array(rows).T
    found = suite_ratio(logs, variances, dfs)
    assert found.these.point == found.like_these.point


def test_an_error_in_common_does_not_narrow_the_interval_for_similar_benchmarks() -> None:
    logs, variances, dfs = [0.1, 0.7], [0.01, 0.01], [22, 22]
    apart = suite_ratio(logs, variances, dfs).like_these
    shared = suite_ratio(logs, variances, dfs, shared=Together((0, 1), 0.4, 0.02, 22.0)).like_these
    assert shared.low <= apart.low * (1 + 1e-12)
    assert shared.high >= apart.high * (1 - 1e-12)


def test_both_intervals_cover_what_they_are_for() -> None:
    rng = np.random.default_rng(36)
    hits_these = hits_like = 0
    runs = 1500
    for _ in range(runs):
        truth = rng.normal(0.1, 0.2, 8)
        data = truth + rng.normal(0, 0.1, (6, 8))
        found = suite_ratio(data.mean(axis=0), data.var(axis=0, ddof=1) / 6, [5] * 8)
        hits_these += math.log(found.these.low) <= truth.mean() <= math.log(found.these.high)
        hits_like += math.log(found.like_these.low) <= 0.1 <= math.log(found.like_these.high)
    for hits in (hits_these, hits_like):
        assert abs(hits / runs - 0.95) < 4 * math.sqrt(0.95 * 0.05 / runs)


def test_benchmarks_that_share_rounds_count_as_one_estimate() -> None:
    shared = Together((0, 2), 0.15, 0.016, 6.0)
    found = suite_ratio([0.1, 0.3, 0.2], [0.0009, 0.0004, 0.0009], [9, 8, 9], shared=shared)
    parts = [(2 / 3) ** 2 * 0.016, (1 / 3) ** 2 * 0.0004]
    df = sum(parts) ** 2 / (parts[0] ** 2 / 6 + parts[1] ** 2 / 8)
    half = stats.t(df).ppf(0.975) * math.sqrt(sum(parts))
    assert math.log(found.these.low) == pytest.approx(0.2 - half)
    assert math.log(found.these.point) == pytest.approx(0.2)
    # The excess over independent errors, 3/2 (v - 0.0022/9), is added to s² / 3 = 0.01/3.
    common = 1.5 * (sum(parts) - 0.0022 / 9)
    total = 0.01 / 3 + common
    df = total**2 / ((0.01 / 3) ** 2 / 2 + common**2 / 6)
    assert math.log(found.like_these.high) == pytest.approx(0.2 + stats.t(df).ppf(0.975) * math.sqrt(total))
    few = suite_ratio(
        [0.1, 0.3], [0.1, 0.1], [9, 9], shared=Together((0, 1), math.nan, math.nan, math.nan, "few rounds")
    )
    assert (few.these.reason, few.these.point) == ("few rounds", pytest.approx(math.exp(0.2)))


def test_a_suite_with_as_many_variances_as_ratios_is_asked_for() -> None:
    with pytest.raises(ValueError, match="as many variances"):
        suite_ratio([0.1, 0.2], [0.1], [5])
