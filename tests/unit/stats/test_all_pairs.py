"""All pairs of several alternatives: against SciPy, with missing values, and the error of a family in simulations."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from helpers.golden import Golden
from regatta.stats.all_pairs import paired_pairs, simultaneous, welch_pairs
from regatta.stats.anova import block_anova_many
from regatta.stats.estimate import Contrast
from regatta.stats.ratios import paired_log_ratios, welch_log_ratio
from regatta.stats.stein import stein_log_ratio
from regatta.stats.suite_mean import suite_ratio
from regatta.stats.tukey import tukey_many

RNG = np.random.default_rng(20_07)


def test_two_alternatives_are_one_paired_t_test() -> None:
    table = np.exp(RNG.normal(0, 0.1, (9, 2)))
    ((pair,),) = paired_pairs([table])
    single = stats.ttest_rel(*np.log(table).T)
    assert pair.p == pytest.approx(single.pvalue, rel=1e-9)
    assert (pair.ratio.low, pair.ratio.high) == pytest.approx(
        np.exp(single.confidence_interval(0.95)), rel=1e-9
    )


def test_each_pair_uses_the_blocks_that_have_both() -> None:
    table = np.exp(RNG.normal(0, 0.1, (8, 4)))
    table[0, 0] = table[3, 1] = np.nan
    table[1:, 3] = np.nan
    (found,) = paired_pairs([table], 0.9)
    assert [(pair.first, pair.second) for pair in found] == list(combinations(range(4), 2))
    logs = np.log(table[:, 0] / table[:, 1])
    single = stats.ttest_1samp(logs[~np.isnan(logs)], 0.0)
    assert found[0].ratio.n == 6
    assert found[0].p == pytest.approx(1 - (1 - single.pvalue) ** 6, rel=1e-9)
    ends = single.confidence_interval(0.9 ** (1 / 6))
    assert (found[0].ratio.low, found[0].ratio.high) == pytest.approx(np.exp(ends), rel=1e-9)
    assert found[0].ratio.level == 0.9
    without = [pair for pair in found if pair.second == 3]
    assert all(math.isnan(pair.ratio.low) and math.isnan(pair.p) and pair.ratio.reason for pair in without)


def test_families_of_one_call_do_not_influence_each_other() -> None:
    tables = [np.exp(RNG.normal(0, 0.1, shape)) for shape in ((5, 3), (5, 4), (7, 3), (5, 3))]
    assert paired_pairs(tables) == [paired_pairs([table])[0] for table in tables]


def test_independent_samples_are_compared_by_welch() -> None:
    groups = [np.exp(RNG.normal(0, spread, n)) for spread, n in ((0.1, 5), (0.3, 9), (0.1, 7))]
    for pair, (a, b) in zip(welch_pairs(groups), combinations(groups, 2), strict=True):
        single = stats.ttest_ind(np.log(a), np.log(b), equal_var=False)
        assert pair.p == pytest.approx(1 - (1 - single.pvalue) ** 3, rel=1e-9)
        ends = single.confidence_interval(0.95 ** (1 / 3))
        assert (pair.ratio.low, pair.ratio.high) == pytest.approx(np.exp(ends), rel=1e-9)


def test_a_level_outside_0_to_1_is_an_error() -> None:
    with pytest.raises(ValueError, match="level"):
        paired_pairs([np.ones((3, 2))], 1.0)
    with pytest.raises(ValueError, match="level"):
        welch_pairs([np.ones(3), np.ones(3)], 95)


def test_simultaneous_ratios_to_one_baseline_keep_their_own_degrees_of_freedom(golden: Golden) -> None:
    a, b = np.exp(RNG.normal(0, 0.1, 8)), np.exp(RNG.normal(0, 0.3, 5))
    single = stats.ttest_ind(np.log(a), np.log(b), equal_var=False)
    ends = np.exp(single.confidence_interval(0.9 ** (1 / 4)))
    found = simultaneous(welch_log_ratio(a, b, 0.9), 4)
    assert (found.interval.low, found.interval.high) == pytest.approx(tuple(ends))
    assert (found.interval.method, found.interval.level) == ("sidak-welch-log", 0.9)
    assert found.p == pytest.approx(1 - (1 - single.pvalue) ** 4)
    stein = simultaneous(stein_log_ratio(a[:5], b, 4), 3)
    assert (stein.interval.method, stein.df) == ("sidak-stein-paired-log-t", 3)
    none = simultaneous(welch_log_ratio(a[:1], b), 4)
    assert math.isnan(none.p)
    golden("a side of one value", none.interval.reason)


@pytest.mark.parametrize("noisy", [0, 1])
@pytest.mark.parametrize("k", [3, 5, 8])
def test_ratios_to_one_baseline_keep_the_error_of_the_family(k: int, noisy: int) -> None:
    """2,000 experiments without any difference; the baseline or an alternative has ten times the noise of the others.

    Dunnett's test, which assumes equal variances, shows a difference in up to 0.24 of them.
    """
    rng = np.random.default_rng([k, noisy])
    spread = np.full(k, 0.01)
    spread[noisy] *= 10
    tables = np.exp(rng.normal(0, 0.05, (2_000, 10, 1)) + rng.normal(0, 1, (2_000, 10, k)) * spread)
    columns = [paired_log_ratios(tables[:, :, i], tables[:, :, 0]) for i in range(1, k)]
    shown = [
        min(simultaneous(one, k - 1).p for one in ratios) < 0.05 for ratios in zip(*columns, strict=True)
    ]
    assert np.mean(shown) <= 0.055


@pytest.mark.full
@pytest.mark.parametrize("noise", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("blocks", [7, 30])
@pytest.mark.parametrize("k", [3, 5, 8])
def test_one_noisy_alternative_does_not_raise_the_error_of_the_family(
    k: int, blocks: int, noise: float
) -> None:
    """2,000 experiments without any difference; with Tukey's range up to 0.17 of them show one."""
    rng = np.random.default_rng([k, blocks, int(noise)])
    spread = np.full(k, 0.01)
    spread[0] *= noise
    shared = rng.normal(0, 0.05, (2_000, blocks, 1))
    tables = np.exp(shared + rng.normal(0, 1, (2_000, blocks, k)) * spread)
    shown = [min(pair.p for pair in family) < 0.05 for family in paired_pairs(list(tables))]
    # The goal is 0.055. The standard error of a share of 0.05 of 2,000 is 0.005.
    assert np.mean(shown) <= 0.055


@pytest.mark.full
@pytest.mark.parametrize(
    ("k", "shares"), [(3, (0.062, 0.043, 0.034)), (5, (0.113, 0.057, 0.035)), (8, (0.179, 0.072, 0.038))]
)
def test_the_table_of_the_methodology_is_what_simulations_give(k: int, shares: tuple[float, ...]) -> None:
    """Ten blocks, one alternative ten times as noisy: Tukey's range, the range of each pair, and Sidak."""
    rng = np.random.default_rng([k, 10, 10])
    spread = np.full(k, 0.01)
    spread[0] *= 10
    logs = rng.normal(0, 0.05, (2_000, 10, 1)) + rng.normal(0, 1, (2_000, 10, k)) * spread
    of_tukey = [min(pair.p for pair in family) < 0.05 for family in tukey_many(block_anova_many(logs))]
    differences = [logs[:, :, i] - logs[:, :, j] for i, j in combinations(range(k), 2)]
    errors = [one.std(axis=1, ddof=1) / math.sqrt(10) for one in differences]
    ranges = [np.abs(one.mean(axis=1)) / error for one, error in zip(differences, errors, strict=True)]
    of_each = np.max(ranges, axis=0) * math.sqrt(2) > stats.studentized_range.ppf(0.95, k, 9)
    of_sidak = [min(pair.p for pair in family) < 0.05 for family in paired_pairs(list(np.exp(logs)))]
    found = [float(np.mean(one)) for one in (of_tukey, of_each, of_sidak)]
    assert found == pytest.approx(shares, abs=0.0011)


@pytest.mark.full
@pytest.mark.parametrize("k", [3, 5, 8])
def test_independent_samples_keep_the_error_of_the_family(k: int) -> None:
    rng = np.random.default_rng(k)
    spread = np.linspace(1, 6, k) * 0.01
    groups = np.exp(rng.normal(0, 1, (2_000, 10, k)) * spread)
    shown = [min(pair.p for pair in welch_pairs(list(one.T))) < 0.05 for one in groups]
    assert np.mean(shown) <= 0.055


@pytest.mark.full
@pytest.mark.parametrize("k", [3, 8])
def test_pairs_over_a_suite_keep_the_error_of_the_family(k: int) -> None:
    """300 suites of 3 benchmarks without any difference, one noisy alternative; the standard error of 0.05 is 0.013."""
    rng = np.random.default_rng(k)
    spread = np.full(k, 0.01)
    spread[0] *= 10
    shown = 0
    for logs in rng.normal(0, 1, (300, 3, 10, k)) * spread:
        p = []
        for i, j in combinations(range(k), 2):
            d = logs[:, :, i] - logs[:, :, j]
            mean = suite_ratio(d.mean(axis=1), d.var(axis=1, ddof=1) / 10, [9] * 3)
            p.append(simultaneous(Contrast(mean.these, mean.p, mean.df), math.comb(k, 2)).p)
        shown += min(p) < 0.05
    assert shown <= 25
