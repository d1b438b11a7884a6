"""A difference on several hosts: against numbers made by other means, in simulation, and where nothing can be said."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from helpers.golden import Golden
from regatta.stats.hosts import (
    HostEffect,
    differing_hosts,
    host_interaction,
    paired_effect,
    platform_difference,
    pool_hosts,
    pool_pair,
    unpaired_effect,
)

_FOLDER = Path(__file__).parents[2] / "reference"
REFERENCE = json.loads((_FOLDER / "hosts.json").read_text())
WELCH = json.loads((_FOLDER / "hosts_welch.json").read_text())


def tables(rows: list[list[float]]) -> list[np.ndarray]:
    """Shape (blocks, 3) of each host."""
    found = []
    for host in sorted({row[0] for row in rows}):
        mine = [row for row in rows if row[0] == host]
        table = np.full((int(max(row[1] for row in mine)), 3), math.nan)
        for _, block, alternative, value in mine:
            table[int(block) - 1, int(alternative) - 1] = value
        found.append(table)
    return found


def pairs(table: np.ndarray) -> np.ndarray:
    """g1 - serial of the blocks that hold both."""
    d = table[:, 1] - table[:, 0]
    return d[~np.isnan(d)]


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_the_interaction_of_host_and_alternative_is_that_of_the_stacked_model(name: str) -> None:
    expected = WELCH[name]["all"]
    found = host_interaction(tables(REFERENCE[name]["rows"]))
    assert found.df_interaction == expected["df"]
    assert (found.f, found.df_error, found.p) == pytest.approx(
        (expected["f"], expected["df_error"], expected["p"]), rel=1e-9
    )


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_the_pooled_difference_is_that_of_exact_sums_and_its_test_that_of_scipy(name: str) -> None:
    expected = WELCH[name]["pooled"]
    effects = [paired_effect(pairs(table)) for table in tables(REFERENCE[name]["rows"])]
    fixed = pool_hosts(effects)
    interval = fixed.contrast.interval
    assert (interval.point, interval.low, interval.high, fixed.contrast.df) == pytest.approx(
        (expected["point"], expected["low"], expected["high"], expected["df"]), rel=1e-9
    )
    assert fixed.contrast.p == pytest.approx(expected["p"], rel=1e-7)
    test = fixed.interaction
    assert (test.f, test.df_interaction, test.df_error, test.p) == pytest.approx(
        (expected["f"], expected["f_df"], expected["f_df_error"], expected["f_p"]), rel=1e-8
    )


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_of_hosts_like_these_it_is_that_of_r(name: str) -> None:
    expected = REFERENCE[name]["random"]
    effects = [paired_effect(pairs(table)) for table in tables(REFERENCE[name]["rows"])]
    random = pool_hosts(effects, random=True)
    assert (random.contrast.interval.low, random.contrast.interval.high) == pytest.approx(
        (expected["low"], expected["high"]), rel=1e-9
    )
    assert random.contrast.p == pytest.approx(expected["p"], rel=1e-9)


def test_two_alternatives_give_the_same_f_by_pairs_and_by_tables() -> None:
    many = tables(REFERENCE["uneven"]["rows"])
    by_tables = host_interaction([table[:, :2] for table in many])
    by_pairs = pool_hosts([paired_effect(pairs(table)) for table in many]).interaction
    assert (by_tables.f, by_tables.df_error) == pytest.approx((by_pairs.f, by_pairs.df_error), rel=1e-10)


def test_the_mean_over_two_hosts_is_half_of_what_welchs_t_says_of_their_sum() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.normal(0.1, 0.01, 12), rng.normal(0.2, 0.05, 5)
    found = pool_hosts([paired_effect(first), paired_effect(second)]).contrast
    test = stats.ttest_ind(first, -second, equal_var=False)
    low, high = test.confidence_interval(0.95)
    assert (found.interval.low, found.interval.high, found.p, found.df) == pytest.approx(
        (low / 2, high / 2, test.pvalue, test.df), rel=1e-10
    )


def test_independent_samples_keep_the_spread_of_each_side_on_each_host() -> None:
    rng = np.random.default_rng(5)
    groups = [(rng.normal(h, 0.1, 8), rng.normal(h - 1, 0.4, 5)) for h in range(3)]
    one = pool_hosts([unpaired_effect(*groups[0])]).contrast
    test = stats.ttest_ind(*groups[0], equal_var=False)
    assert (one.p, one.df) == pytest.approx((test.pvalue, test.df), rel=1e-10)
    parts = [(x.var(ddof=1) / len(x) / 9, len(x) - 1) for pair in groups for x in pair]
    total = sum(variance for variance, _ in parts)
    df = total**2 / sum(variance**2 / own for variance, own in parts)
    found = pool_hosts([unpaired_effect(a, b) for a, b in groups])
    interval = found.contrast.interval
    assert found.contrast.df == pytest.approx(df, rel=1e-10)
    assert interval.high - interval.point == pytest.approx(
        float(stats.t(df).ppf(0.975)) * math.sqrt(total), rel=1e-9
    )


def test_all_pairs_on_one_host_are_those_of_tamhane() -> None:
    rng = np.random.default_rng(9)
    groups = [rng.normal(0.0, 0.1, 6), rng.normal(0.3, 0.4, 9), rng.normal(0.1, 0.2, 12)]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        found = pool_pair([unpaired_effect(groups[i], groups[j])], 3).contrast
        single = stats.ttest_ind(groups[i], groups[j], equal_var=False)
        ends = single.confidence_interval(0.95 ** (1 / 3))
        assert (found.interval.low, found.interval.high, found.p) == pytest.approx(
            (*ends, 1 - (1 - single.pvalue) ** 3), rel=1e-9
        )
        assert found.interval.level == 0.95


def test_platforms_are_compared_for_these_hosts_and_for_hosts_like_these(golden: Golden) -> None:
    rng = np.random.default_rng(12)
    a = [rng.normal(1.0 + shift, 0.1, n) for shift, n in ((0.0, 8), (0.4, 12))]
    b = [rng.normal(shift, 0.3, n) for shift, n in ((0.0, 9), (0.2, 7), (-0.1, 5))]
    found = platform_difference(a, b)
    means = [[float(x.mean()) for x in side] for side in (a, b)]
    point = float(np.mean(means[0]) - np.mean(means[1]))
    parts = [(x.var(ddof=1) / len(x) / len(side) ** 2, len(x) - 1) for side in (a, b) for x in side]
    total = sum(variance for variance, _ in parts)
    df = total**2 / sum(variance**2 / own for variance, own in parts)
    half = float(stats.t(df).ppf(0.975)) * math.sqrt(total)
    these = found.these.interval
    assert (these.point, these.low, these.high, these.n) == pytest.approx(
        (point, point - half, point + half, 41)
    )
    like = stats.ttest_ind(*means, equal_var=False)
    assert found.like_these.interval.low == pytest.approx(like.confidence_interval(0.95).low)
    one = platform_difference(a[:1], b)
    assert not math.isnan(one.these.interval.low)
    golden("one host", one.like_these.interval.reason)
    two = platform_difference(a[:1], b[:1]).these
    single = stats.ttest_ind(a[0], b[0], equal_var=False)
    assert (two.p, two.df) == pytest.approx((single.pvalue, single.df))


def test_hosts_like_these_are_never_better_known_than_these() -> None:
    rng = np.random.default_rng(2)
    a, b = ([one - one.mean() for one in rng.normal(0, 1, (2, 5))] for _ in range(2))
    a[0], b[0] = a[0] + 1e-3, b[0] - 1e-3
    found = platform_difference(a, b)
    assert found.like_these.interval.low == found.these.interval.low


def test_platforms_without_two_values_or_without_spread_have_a_reason(golden: Golden) -> None:
    found = platform_difference([[1.0]], [[1.0, 2.0]])
    assert math.isnan(found.these.interval.point)
    golden("no host with two values", found.these.interval.reason)
    same = platform_difference([[1.0, 1.0]], [[2.0, 2.0]])
    assert same.these.interval.point == -1.0
    golden("values without spread", same.these.interval.reason)


def test_a_host_with_a_single_block_takes_no_part_where_hosts_are_fixed() -> None:
    effects = [paired_effect([0.1, 0.2, 0.15]), paired_effect([0.9]), paired_effect([0.3, 0.2, 0.2])]
    found = pool_hosts(effects)
    assert found.taken == (True, False, True)
    assert found.contrast.interval.point == pytest.approx((0.15 + 0.7 / 3) / 2)
    assert pool_hosts(effects, random=True).hosts == 3


def test_hosts_that_differ_are_named_where_most_of_the_others_agree() -> None:
    rng = np.random.default_rng(6)
    many = [rng.normal(0.0, 0.01, 10) + shift for shift in (0.0, 0.0, 0.1, 0.0, -0.2)]
    effects = [paired_effect([]), *(paired_effect(d) for d in many)]
    assert differing_hosts(effects[:5]) == [3]
    assert differing_hosts(effects) == [3, 5]
    assert differing_hosts([effects[1], effects[3], effects[5]]) == []
    assert differing_hosts(effects[2:4]) == []
    assert differing_hosts([paired_effect([0.1, 0.1])] * 3) == []


@pytest.mark.parametrize(
    ("differences", "reason"),
    [
        ([], "has both sides"),
        ([[]], "has both sides"),
        ([[math.nan]], "has both sides"),
        ([[0.1], [0.2]], "one value per host"),
        ([[0.1, 0.1], [0.1, 0.1]], "do not vary within"),
        ([[0.1, 0.1], [0.2]], "do not vary within"),
    ],
)
def test_what_cannot_be_pooled_is_undefined_with_a_reason(
    differences: list[list[float]], reason: str
) -> None:
    found = pool_hosts([paired_effect(d) for d in differences])
    assert math.isnan(found.contrast.interval.low)
    assert math.isnan(found.contrast.p)
    assert reason in found.contrast.interval.reason
    assert found.interaction.reason


def test_one_host_says_nothing_of_others() -> None:
    one = [paired_effect([0.1, 0.2, 0.15])]
    random = pool_hosts(one, random=True)
    assert "one host" in random.contrast.interval.reason
    assert random.contrast.interval.point == pytest.approx(0.15)
    assert math.isnan(pool_hosts(one).interaction.f)
    assert math.isfinite(pool_hosts(one).contrast.p)


def test_hosts_without_the_pair_take_no_part() -> None:
    some = [paired_effect([0.1, 0.2, 0.15]), paired_effect([]), paired_effect([0.3, 0.2, 0.2])]
    found = pool_hosts(some)
    assert found.hosts == 2
    assert found.contrast.interval.n == 6
    assert found.interaction.df_interaction == 1


def test_tables_without_common_blocks_or_with_one_alternative_have_no_interaction() -> None:
    nothing = np.full((3, 2), math.nan)
    assert host_interaction([]).reason
    assert host_interaction([nothing, nothing]).reason
    assert host_interaction([np.ones((3, 2)), nothing]).reason
    assert host_interaction([np.ones((3, 2)), np.ones((3, 2))]).reason
    with pytest.raises(ValueError, match="same alternatives"):
        host_interaction([np.ones((3, 2)), np.ones((3, 3))])


finite = st.floats(-10, 10, allow_nan=False)


@given(
    st.lists(st.lists(finite, max_size=6), max_size=5),
    st.floats(-3, 3),
    st.booleans(),
)
def test_a_shift_of_every_host_shifts_the_pooled_difference(
    many: list[list[float]], shift: float, random: bool
) -> None:
    before = pool_hosts([paired_effect(d) for d in many], random=random).contrast.interval
    after = pool_hosts([paired_effect([x + shift for x in d]) for d in many], random=random).contrast.interval
    if not math.isnan(before.point):
        assert after.point == pytest.approx(before.point + shift, abs=1e-9)
    assert before.n == after.n


def test_an_effect_that_is_not_a_number_is_not_known() -> None:
    effect: Any = paired_effect([math.inf, 1.0])
    assert isinstance(effect, HostEffect)
    assert not effect.known
    assert not unpaired_effect([], [1.0]).known


def _shares(hosts: list[tuple[int, float]], trials: int, seed: int) -> tuple[float, float, float]:
    """Of so many (blocks, spread) a host: how often the interval covers, and either test gives a false alarm."""
    rng = np.random.default_rng(seed)
    covered = alarms = many = 0
    for _ in range(trials):
        made = [rng.normal(0, 0.03, (n, 1)) + rng.normal(0, s, (n, 3)) for n, s in hosts]
        found = pool_hosts([paired_effect(table[:, 1] - table[:, 0]) for table in made])
        covered += found.contrast.interval.low < 0.0 < found.contrast.interval.high
        alarms += found.interaction.p < 0.05
        many += host_interaction(made).p < 0.05
    return covered / trials, alarms / trials, many / trials


@pytest.mark.parametrize(
    "hosts",
    [[(10, 0.01), (10, 0.03), (10, 0.1)], [(30, 0.01), (5, 0.05)], [(5, 0.01)] * 4],
    ids=["unlike", "few on the loud one", "few"],
)
def test_fixed_hosts_are_covered_and_seldom_seem_to_differ(hosts: list[tuple[int, float]]) -> None:
    # Standard error of a share of 0.05 in 800: 0.8 %.
    covered, alarms, many = _shares(hosts, 800, 76)
    assert 0.93 < covered < 0.97
    assert 0.025 < alarms < 0.075
    assert 0.025 < many < 0.075


@pytest.mark.long
@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("blocks", [5, 10, 30])
@pytest.mark.parametrize("ratio", [1.0, 3.0, 10.0])
def test_fixed_hosts_are_covered_whatever_their_number_and_spreads(
    count: int, blocks: int, ratio: float
) -> None:
    # Standard error of a share of 0.05 in 20,000: 0.15 %.
    hosts = [(blocks, 0.01 * ratio ** (h / (count - 1))) for h in range(count)]
    covered, alarms, many = _shares(hosts, 20_000, 79)
    assert 0.94 < covered < 0.965
    assert 0.03 < alarms < 0.07
    assert 0.03 < many < 0.075


def test_intervals_cover_what_they_are_meant_for() -> None:
    """2,000 experiments on 4 hosts whose true effects differ: fixed hosts cover these hosts' mean, random ones that of all."""
    rng = np.random.default_rng(77)
    fixed = random = mistaken = 0
    for _ in range(2000):
        true = rng.normal(0.0, 0.03, 4)
        effects = [paired_effect(one + rng.normal(0, 0.02, 6)) for one in true]
        these, all_like_these = pool_hosts(effects), pool_hosts(effects, random=True)
        low, high = these.contrast.interval.low, these.contrast.interval.high
        fixed += low < true.mean() < high
        mistaken += low < 0.0 < high
        random += all_like_these.contrast.interval.low < 0.0 < all_like_these.contrast.interval.high
    # Standard error of a share of 0.95: 0.5 %.
    assert 0.935 < fixed / 2000 < 0.965
    assert 0.935 < random / 2000 < 0.965
    # An interval for these hosts is none for others.
    assert mistaken / 2000 < 0.6


def test_equal_effects_seem_to_depend_on_the_host_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(78)
    alarms = 0
    for _ in range(1000):
        tables = [rng.normal(0, 0.05, (7, 1)) + rng.normal(0, 0.02, (7, 3)) for _ in range(3)]
        tables[0][2, 1] = math.nan
        alarms += host_interaction(tables).p < 0.05
    assert 0.03 < alarms / 1000 < 0.07
