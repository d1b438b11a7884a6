"""Counts without variance have an exact ratio; times and single values do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regatta.stats.all_pairs import paired_pairs, simultaneous, welch_pairs
from regatta.stats.estimate import Contrast
from regatta.stats.hosts import (
    HostEffect,
    differing_hosts,
    exact_interaction,
    exact_ratio_of,
    paired_effect,
    platform_difference,
    pool_hosts,
    pool_pair,
    unpaired_effect,
    with_exact_ratio,
)
from regatta.stats.multiplicity import benjamini_hochberg, holm
from regatta.stats.ratios import georges_ratio, paired_log_ratio, paired_log_ratios, welch_log_ratio
from regatta.stats.resolution import coarse_step
from regatta.stats.stein import stein_log_ratio
from regatta.stats.suite_mean import Together, suite_ratio

A, B = [1010.0] * 5, [1000.0] * 5
EACH = {
    "paired": lambda a, b, counted: paired_log_ratio(a, b, 0.95, counted),
    "welch": lambda a, b, counted: welch_log_ratio(a, b, 0.95, counted),
    "georges": lambda a, b, counted: georges_ratio(a, b, 0.95, counted),
    "stein": lambda a, b, counted: stein_log_ratio(a, b, min(3, len(a)), 0.95, counted),
}


def numbers(found: Contrast) -> tuple[float, float, float, float]:
    return found.interval.point, found.interval.low, found.interval.high, found.p


@pytest.mark.parametrize("name", EACH)
def test_counts_without_variance_have_an_exact_ratio(name: str) -> None:
    found = EACH[name](A, B, True)
    assert numbers(found) == (1.01, 1.01, 1.01, 0.0)
    assert found.interval.is_exact
    assert found.interval.reason == ""
    assert numbers(EACH[name](B, B, True)) == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("name", EACH)
def test_equal_times_stay_undefined(name: str) -> None:
    found = EACH[name](A, B, False)
    assert found.interval.point == pytest.approx(1.01)
    assert math.isnan(found.interval.low)
    assert math.isnan(found.p)
    assert found.interval.reason


@pytest.mark.parametrize("name", EACH)
def test_a_single_count_on_each_side_stays_undefined(name: str) -> None:
    found = EACH[name](A[:1], B[:1], True)
    assert math.isnan(found.interval.low)
    assert found.interval.reason


def test_counts_with_equal_ratios_but_different_values_stay_undefined() -> None:
    b = np.array([1000.0, 2000.0, 3000.0])
    found = paired_log_ratio(2.0 * b, b, 0.95, True)
    assert math.isnan(found.interval.low)


def test_a_batch_has_exact_and_estimated_ratios_side_by_side() -> None:
    noisy = [1000.0, 1004.0, 997.0, 1001.0, 999.0]
    found = paired_log_ratios([A, A, A, noisy], [B, B, noisy, B], 0.95, [True, False, True, True])
    assert [one.interval.is_exact for one in found] == [True, False, False, False]
    assert [math.isnan(one.interval.low) for one in found] == [False, True, False, False]


def test_all_pairs_of_counts_are_exact_and_their_p_values_stay_exact() -> None:
    table = np.array([[1000.0, 1000.0, 1010.0]] * 4)
    of_blocks = paired_pairs([table], counted=[True])[0]
    apart = welch_pairs(list(table.T), counted=True)
    for found in (of_blocks, apart):
        assert [one.ratio.point for one in found] == [1.0, 1000 / 1010, 1000 / 1010]
        assert [one.p for one in found] == [1.0, 0.0, 0.0]
        assert all(one.ratio.low == one.ratio.high == one.ratio.point for one in found)
    assert {one.ratio.method for one in of_blocks} == {"sidak-paired-log-t, no variance"}
    assert all(math.isnan(one.ratio.low) for one in paired_pairs([table])[0])
    p = [one.p for one in of_blocks]
    assert holm(p).tolist() == [1.0, 0.0, 0.0]
    assert benjamini_hochberg(p).tolist() == [1.0, 0.0, 0.0]


def test_a_simultaneous_interval_of_an_exact_ratio_is_exact() -> None:
    found = simultaneous(paired_log_ratio(A, B, 0.95, True), 3)
    assert numbers(found) == (1.01, 1.01, 1.01, 0.0)
    assert found.interval.is_exact


def effect(a: float, b: float = 1000.0, n: int = 5) -> HostEffect:
    """Return the effect of counts that do not vary, on one host."""
    x, y = np.full(n, a), np.full(n, b)
    return with_exact_ratio(unpaired_effect(np.log(x), np.log(y)), x, y)


def test_hosts_with_one_exact_ratio_have_it_together() -> None:
    # 2040 / 2000 is the same number as 1020 / 1000.
    found = pool_hosts([effect(1020.0), effect(2040.0, 2000.0)])
    assert (found.ratio.point, found.ratio.low, found.ratio.high) == (1.02, 1.02, 1.02)
    assert (found.contrast.p, found.error, found.hosts) == (0.0, 0.0, 2)
    assert found.ratio.method == "fixed-hosts, no variance"
    assert found.interaction.p == 1.0
    equal = pool_hosts([effect(1000.0), effect(3000.0, 3000.0)])
    assert (equal.ratio.point, equal.ratio.low, equal.contrast.p) == (1.0, 1.0, 1.0)
    pair = pool_pair([effect(1020.0), effect(2040.0, 2000.0)], 3)
    assert (pair.ratio.point, pair.ratio.low, pair.contrast.p) == (1.02, 1.02, 0.0)
    assert pair.ratio.method == "sidak-fixed-hosts, no variance"


def test_hosts_with_different_exact_ratios_have_their_geometric_mean_and_differ() -> None:
    found = pool_hosts([effect(2000.0), effect(500.0)])
    assert (found.ratio.point, found.contrast.p) == (1.0, 1.0)
    assert found.interaction.p == 0.0
    # log(1.1) and log(1 / 1.1) need not cancel to the last digit.
    assert pool_hosts([effect(1100.0), effect(1000.0, 1100.0)]).ratio.point == 1.0
    many = [effect(1020.0), effect(1020.0), effect(1040.0), effect(1020.0)]
    assert pool_hosts(many).ratio.point == pytest.approx((1.02**3 * 1.04) ** 0.25, rel=1e-15)
    assert differing_hosts(many) == [2]
    assert differing_hosts(many[1:3]) == []
    assert exact_interaction([[1.02, 1.02], [1.0, 1.1]]).p == 0.0


def test_hosts_like_these_with_equal_ratios_stay_undefined() -> None:
    found = pool_hosts([effect(1020.0), effect(1020.0)], random=True)
    assert math.isnan(found.ratio.low)
    assert found.ratio.reason
    varied = pool_hosts([effect(1020.0), effect(1040.0)], random=True)
    assert varied.ratio.low < math.sqrt(1.02 * 1.04) < varied.ratio.high


def test_an_exact_host_adds_no_variance_to_one_that_varies() -> None:
    d = np.log([1.01, 1.03, 1.02, 1.05])
    found = pool_hosts([effect(1020.0), paired_effect(d)])
    own = pool_hosts([paired_effect(d)])
    assert not found.ratio.is_exact
    assert found.contrast.interval.point == pytest.approx((math.log(1.02) + d.mean()) / 2, rel=1e-14)
    assert found.error == pytest.approx(own.error / 2, rel=1e-14)
    assert found.contrast.df == pytest.approx(3.0)
    # The variance of one host is 0 and that of the other is not: no F.
    assert math.isnan(found.interaction.p)


def test_counts_that_vary_or_a_single_count_have_no_exact_effect() -> None:
    assert not effect(1020.0, n=1).exact
    x, y = np.array([1020.0, 1021.0]), np.array([1000.0, 1000.0])
    assert not with_exact_ratio(unpaired_effect(np.log(x), np.log(y)), x, y).exact
    nothing = paired_effect([])
    assert with_exact_ratio(nothing, [], []) is nothing


def test_platforms_of_counts_without_variance_have_an_exact_ratio_for_these_hosts() -> None:
    a, b = [np.full(4, 1100.0)], [np.full(4, 1000.0), np.full(4, 1000.0)]
    exactly = exact_ratio_of([[one] for one in a], [[one] for one in b])
    assert exactly == 1.1
    logs = [np.log(one) for one in a], [np.log(one) for one in b]
    found = platform_difference(*logs, 0.95, exactly)
    assert numbers(found.ratio) == (1.1, 1.1, 1.1, 0.0)
    assert math.isnan(found.like_these.interval.low)
    assert math.isnan(platform_difference(*logs, 0.95).ratio.interval.low)
    means = exact_ratio_of([[[1100.0] * 2]], [[[1000.0] * 2], [[1210.0] * 2]])
    assert means == 1.0
    assert math.isnan(exact_ratio_of([[[1100.0, 1101.0]]], [[[1000.0] * 2]]))
    assert math.isnan(exact_ratio_of([[[1100.0]]], [[[1000.0] * 2]]))
    assert math.isnan(exact_ratio_of([[[0.0] * 2]], [[[1000.0] * 2]]))
    assert math.isnan(exact_ratio_of([], [[[1000.0] * 2]]))


def test_the_mean_of_exact_ratios_is_exact_for_these_benchmarks() -> None:
    ratios = [1.02, 1.05, 1.0]
    logs = np.log(ratios)
    found = suite_ratio(logs, [0.0] * 3, [4.0] * 3, 0.95, None, ratios)
    mean = (1.02 * 1.05) ** (1 / 3)
    assert found.these.is_exact
    assert found.these.point == pytest.approx(mean, rel=1e-15)
    assert (found.these.low, found.these.high, found.p) == (found.these.point, found.these.point, 0.0)
    # The spread between benchmarks is that of others.
    assert found.like_these.low < 1.0 < mean < found.like_these.high
    equal = suite_ratio([0.0, 0.0], [0.0] * 2, [4.0] * 2, 0.95, None, [1.0, 1.0])
    assert (equal.these.point, equal.these.low, equal.these.high, equal.p) == (1.0, 1.0, 1.0, 1.0)
    assert math.isnan(equal.like_these.low)
    assert math.isnan(suite_ratio(logs, [0.0] * 3, [4.0] * 3).these.low)


def test_an_exact_ratio_adds_no_variance_to_a_mean() -> None:
    logs, variances, dfs = [math.log(1.02), 0.03], [0.0, 0.0004], [4.0, 7.0]
    found = suite_ratio(logs, variances, dfs, 0.95, None, [1.02, math.nan])
    alone = suite_ratio([0.03], [0.0004], [7.0]).these
    middle, half = (logs[0] + logs[1]) / 2, (math.log(alone.high) - math.log(alone.low)) / 4
    assert (found.these.low, found.these.high) == pytest.approx(
        (math.exp(middle - half), math.exp(middle + half)), rel=1e-13
    )
    assert found.df == pytest.approx(7.0)
    shared = Together((1, 2), 0.04, 0.0001, 7.0)
    some = suite_ratio(
        [math.log(1.02), 0.03, 0.05],
        [0.0, 4e-4, 4e-4],
        [4.0, 7.0, 7.0],
        0.95,
        shared,
        [1.02, math.nan, math.nan],
    )
    # Two benchmarks of three share rounds: a standard error of 2/3 of their mean.
    half = (math.log(some.these.high) - math.log(some.these.low)) / 2
    assert half == pytest.approx(2.3646242510102993 * 0.01 * 2 / 3, rel=1e-9)


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([4e6, 4e6, 8e6, 4e6], 4e6),
        ([4e6, 4e6, 4e6], 4e6),
        ([50e6, 51e6, 53e6], 1e6),
        # 1 ms of 500 ms: coarse only if the values hardly vary.
        ([500e6, 501e6, 500e6], 1e6),
        ([500e6, 512e6, 483e6], 0.0),
        ([500_123_457.0, 501_000_001.0, 500_400_000.0], 0.0),
        ([4e6, 4.5e6 + 0.5, 4e6], 0.0),
        ([4e6], 0.0),
        ([0.0, 0.0], 0.0),
        ([4e6, math.nan], 0.0),
    ],
)
def test_a_coarse_clock_shows_by_its_step(values: list[float], step: float) -> None:
    assert coarse_step(values) == step


def test_a_fine_clock_is_never_taken_for_a_coarse_one() -> None:
    rng = np.random.default_rng(1)
    for n in (2, 3, 5, 10):
        samples = np.rint(rng.normal(5e6, 5e4, (2000, n)))
        assert sum(coarse_step(row) > 0.0 for row in samples) <= (2 if n == 2 else 0)
