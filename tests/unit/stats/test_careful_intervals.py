"""Intervals that stay honest where the usual assumption fails: later rounds, unlike hosts, few benchmarks, quiet cells."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regatta.stats.hosts import paired_effect, pool_hosts
from regatta.stats.overhead import lower_bound_overheads
from regatta.stats.ratios import PAIRED
from regatta.stats.stein import STEIN, stein_log_ratio
from regatta.stats.suite_mean import suite_ratio


def test_a_slow_run_after_the_pilot_widens_steins_interval() -> None:
    rng = np.random.default_rng(3)
    d = rng.normal(-0.03, 0.01, 22)
    assert stein_log_ratio(np.exp(d), np.ones(22), 10).interval.method == STEIN
    d[15] += math.log(1.5)
    wide = stein_log_ratio(np.exp(d), np.ones(22), 10).interval
    assert wide.method == PAIRED
    assert wide.high - wide.low > 0.05


def test_normal_differences_seldom_contradict_their_pilot() -> None:
    rng = np.random.default_rng(4)
    methods = [
        stein_log_ratio(np.exp(rng.normal(0, 0.02, 25)), np.ones(25), 10).interval.method for _ in range(2000)
    ]
    assert methods.count(PAIRED) / len(methods) < 0.02


@pytest.mark.parametrize(("sizes", "spreads"), [((30, 10), (1, 3)), ((30, 5), (1, 5)), ((30, 10), (3, 1))])
def test_hosts_of_unlike_spread_are_pooled_with_their_own(
    sizes: tuple[int, int], spreads: tuple[int, int]
) -> None:
    rng = np.random.default_rng(5)
    covered = alarms = 0
    trials = 1500
    for _ in range(trials):
        pooled = pool_hosts(
            [paired_effect(rng.normal(0, s / 100, n)) for n, s in zip(sizes, spreads, strict=True)]
        )
        interval = pooled.contrast.interval
        covered += interval.low <= 0.0 <= interval.high
        alarms += pooled.interaction.p < 0.05
    assert 0.92 < covered / trials < 0.97
    assert 0.03 < alarms / trials < 0.08


def test_welchs_f_over_hosts_is_rs() -> None:
    # oneway.test(d ~ host) of R 4.2 on the same differences
    groups = [np.arange(1.0, 9.0), np.array([2.0, 40.0, -30.0, 55.0]), np.array([3.0, 5.0, 4.5, 3.5, 6.0])]
    found = pool_hosts([paired_effect(group) for group in groups]).interaction
    assert (found.f, found.p) == (
        pytest.approx(0.191059880462, rel=1e-9),
        pytest.approx(0.830736618704, rel=1e-9),
    )


def test_what_a_suite_says_of_others_is_never_narrower_than_what_it_says_of_itself() -> None:
    found = suite_ratio([0.1, 0.1001, 0.0999], [0.02**2] * 3, [9] * 3)
    assert found.like_these.low == found.these.low
    assert found.like_these.high == found.these.high


def test_a_quiet_cell_that_stopped_early_may_be_the_cheapest() -> None:
    rng = np.random.default_rng(6)
    total = np.stack([c * np.exp(rng.normal(0, 0.01, 30)) for c in (1.0, 1.5, 1.6)], axis=1)
    total[10:, 0] = np.nan
    bounds = lower_bound_overheads(total, np.full_like(total, 0.1), np.random.default_rng(1))
    assert bounds.cheapest == 0
    assert bounds.distilled.point == pytest.approx(0.9, rel=0.02)
    assert min(one.point for one in bounds.overheads) > 1.0
