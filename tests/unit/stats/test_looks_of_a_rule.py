"""The level of each of several looks, and p over all of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit

from regatta.host.journal.looks import looks_until
from regatta.stats.all_pairs import paired_pairs, simultaneous
from regatta.stats.hosts import (
    FIXED_HOSTS,
    SIDAK_HOSTS,
    HostEffect,
    host_interaction,
    paired_effect,
    pool_hosts,
    pool_pair,
)
from regatta.stats.looks import LOOKS, adjusted_for_looks, level_of_looks, p_over_looks
from regatta.stats.ratios import paired_log_ratio
from regatta.stats.suite_mean import suite_ratio


def test_five_looks_have_nearly_pococks_level() -> None:
    """Pocock (Biometrika 64, 1977), table 1: 0.0158 for five looks, of normal values whose variance is known."""
    assert 1 - level_of_looks(0.95, 7) == pytest.approx(0.0158, abs=0.0008)


def test_one_look_has_the_level_of_the_experiment() -> None:
    assert level_of_looks(0.95, 3) == pytest.approx(0.95)


@pytest.mark.parametrize(("level", "maximum"), [(0.95, 30), (0.9, 12), (0.99, 100), (0.5, 30), (0.7, 10)])
def test_all_looks_together_have_the_error(level: float, maximum: int) -> None:
    rng = np.random.default_rng(46)
    values = rng.standard_normal((20_000, maximum))
    n = np.arange(1, maximum + 1)
    sums, squares = values.cumsum(axis=1), (values**2).cumsum(axis=1)
    at = [look - 1 for look in looks_until(maximum)]
    variance = (squares - sums**2 / n)[:, at] / (n[at] - 1)
    p = 2 * stdtr(n[at] - 1, -np.abs(sums[:, at] / n[at]) / np.sqrt(variance / n[at]))
    error = (p < 1 - level_of_looks(level, maximum)).any(axis=1).mean()
    assert error == pytest.approx(1 - level, abs=3 * math.sqrt((1 - level) * level / 20_000))


def test_p_is_the_error_whose_interval_just_excludes_equality() -> None:
    for error in (0.5, 0.05, 0.001, 1e-6):
        assert p_over_looks(1 - level_of_looks(1 - error, 30), 30) == pytest.approx(error, rel=1e-6)
    found = [p_over_looks(p, 30) for p in (1e-12, 1e-6, 1e-3, 0.01, 0.2, 0.9, 1.0)]
    assert found == sorted(found)
    assert found[-1] == pytest.approx(1.0)
    assert p_over_looks(0.0, 30) == 0.0
    assert math.isnan(p_over_looks(math.nan, 30))


@pytest.mark.parametrize("maximum", [2, 10_001])
def test_other_numbers_of_rounds_are_refused(maximum: int) -> None:
    with pytest.raises(ValueError, match="maximum"):
        level_of_looks(0.95, maximum)


def test_intervals_of_looks_are_wider_and_say_so() -> None:
    rng = np.random.default_rng(47)
    a, b = np.exp(rng.normal(0.1, 0.1, 12)), np.exp(rng.normal(0, 0.1, 12))
    found = adjusted_for_looks(paired_log_ratio(a, b, level_of_looks(0.95, 30)), 0.95, 30)
    single = paired_log_ratio(a, b)
    assert (found.interval.low, found.interval.high) == (
        pytest.approx(paired_log_ratio(a, b, level_of_looks(0.95, 30)).interval.low),
        pytest.approx(paired_log_ratio(a, b, level_of_looks(0.95, 30)).interval.high),
    )
    assert found.interval.low < single.interval.low
    assert (found.interval.level, found.interval.method.rpartition(", ")[2]) == (0.95, LOOKS)
    assert found.p > single.p
    # The same two alternatives as a family of one pair, and as one of three ratios.
    ((pair,),) = paired_pairs([np.stack([a, b], axis=1)], looks=30)
    assert (pair.ratio.low, pair.p) == (pytest.approx(found.interval.low), pytest.approx(found.p))
    third = simultaneous(found, 3)
    wanted = paired_log_ratio(a, b, level_of_looks(0.95 ** (1 / 3), 30)).interval
    assert (third.interval.low, third.interval.high) == (
        pytest.approx(wanted.low),
        pytest.approx(wanted.high),
    )


def test_one_host_has_the_same_interval_alone_and_pooled() -> None:
    rng = np.random.default_rng(48)
    a, b = np.exp(rng.normal(0.03, 0.02, 12)), np.exp(rng.normal(0, 0.02, 12))
    alone = adjusted_for_looks(paired_log_ratio(a, b, level_of_looks(0.95, 30)), 0.95, 30)
    pooled = pool_hosts([paired_effect(np.log(a) - np.log(b))], looks=30)
    assert (pooled.ratio.low, pooled.ratio.high) == (
        pytest.approx(alone.interval.low),
        pytest.approx(alone.interval.high),
    )
    assert pooled.contrast.p == pytest.approx(alone.p, rel=1e-6)
    assert pooled.contrast.interval.method == f"{FIXED_HOSTS}, {LOOKS}"


def stopped(rng: np.random.Generator, true: float) -> HostEffect:
    """The differences on a host that stops as soon as one is visible: the rule at its most biased."""
    values = rng.normal(true, 1.0, 30)
    for n in looks_until(30):
        t = abs(values[:n].mean()) / values[:n].std(ddof=1) * math.sqrt(n)
        if 2 * stdtr(n - 1, -t) < 1 - level_of_looks(0.95, 30):
            return paired_effect(values[:n])
    return paired_effect(values)


@pytest.mark.parametrize("hosts", [2, 8])
def test_a_mean_over_hosts_that_stopped_alone_is_covered(hosts: int) -> None:
    """Pooled as if the rounds were fixed, the intervals of eight hosts contain the true effect in only 60 to 70 %."""
    rng = np.random.default_rng(49)
    contained = ordinary = 0
    for _ in range(400):
        effects = [stopped(rng, 0.5) for _ in range(hosts)]
        ours, theirs = (pool_hosts(effects, looks=looks).contrast.interval for looks in (30, 0))
        contained += ours.low <= 0.5 <= ours.high
        ordinary += theirs.low <= 0.5 <= theirs.high
    assert contained / 400 > 0.95 - 3 * math.sqrt(0.05 * 0.95 / 400)
    assert ordinary / 400 < 0.9


def test_hosts_that_decided_together_have_the_interval_of_their_mean_rounds() -> None:
    rng = np.random.default_rng(51)
    rounds = rng.normal(0.1, 0.02, (3, 8))
    effects = [paired_effect(one) for one in rounds]
    pooled = pool_hosts(effects, looks=30, rounds=rounds)
    means = rounds.mean(axis=0)
    half = float(stdtrit(7, 0.5 + level_of_looks(0.95, 30) / 2)) * means.std(ddof=1) / math.sqrt(8)
    interval = pooled.contrast.interval
    assert (interval.n, pooled.hosts, pooled.taken) == (8, 3, (True,) * 3)
    assert (interval.low, interval.high) == (
        pytest.approx(means.mean() - half),
        pytest.approx(means.mean() + half),
    )
    assert interval.method == f"{FIXED_HOSTS}, {LOOKS}"
    # Narrower than that of hosts that may have stopped each by its own values.
    apart = pool_hosts(effects, looks=30).contrast.interval
    assert interval.high - interval.low < apart.high - apart.low
    pair = pool_pair(effects, 2, looks=30, rounds=rounds).contrast.interval
    assert (pair.low, pair.method) == (pytest.approx(interval.low), f"{SIDAK_HOSTS}, {LOOKS}")
    # A mean without spread shows no interval, although the hosts vary.
    mirrored = np.array([rounds[0], 1.0 - rounds[0]])
    unknown = pool_hosts([paired_effect(one) for one in mirrored], looks=30, rounds=mirrored)
    assert math.isnan(unknown.contrast.interval.low)


def test_hosts_that_stopped_alone_have_no_test_of_agreement() -> None:
    rng = np.random.default_rng(50)
    effects = [paired_effect(rng.normal(0, 1, 10)) for _ in range(3)]
    for found in (pool_hosts(effects, looks=30), pool_hosts(effects, random=True, looks=30)):
        assert math.isnan(found.interaction.p)
        assert "stopped" in found.interaction.reason
    like_these = pool_hosts(effects, random=True, looks=30).contrast.interval
    assert (math.isnan(like_these.low), "stopped" in like_these.reason) == (True, True)
    assert math.isnan(host_interaction([rng.normal(size=(5, 3)) for _ in range(2)], looks=30).p)
    pair = pool_pair(effects, 3, looks=30).contrast
    wide = pool_hosts(effects, 0.95 ** (1 / 3), looks=30).contrast
    assert (pair.interval.low, pair.interval.method) == (
        pytest.approx(wide.interval.low),
        f"{SIDAK_HOSTS}, {LOOKS}",
    )


def test_a_mean_over_benchmarks_that_stopped_alone_is_covered() -> None:
    """As if the rounds were fixed, the interval of five benchmarks misses in some 15 to 30 % instead of 5 %."""
    rng = np.random.default_rng(51)
    contained = ordinary = 0
    for _ in range(400):
        effects = [stopped(rng, 0.5) for _ in range(5)]
        logs = [one.effect for one in effects]
        parts = [one.parts()[0] for one in effects]
        given = logs, [variance for variance, _ in parts], [df for _, df in parts]
        ours, theirs = (suite_ratio(*given, looks=looks).these for looks in (30, 0))
        contained += ours.low <= math.exp(0.5) <= ours.high
        ordinary += theirs.low <= math.exp(0.5) <= theirs.high
    assert contained / 400 > 0.95 - 3 * math.sqrt(0.05 * 0.95 / 400)
    assert ordinary / 400 < 0.9
    found = suite_ratio([0.1, 0.2], [0.01, 0.01], [5, 5], looks=30)
    assert (math.isnan(found.like_these.low), "stopped" in found.like_these.reason) == (True, True)
