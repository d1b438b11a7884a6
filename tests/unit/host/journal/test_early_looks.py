"""Looks at a comparison: when, and what each says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regatta.host.journal.looks import Limits, Look, is_dependent, look, looks_until, rounds_expected
from regatta.planner.stopping import t_quantiles

LIMITS = Limits(t_quantiles(0.993, 99), math.log(1.02))


@pytest.mark.parametrize(
    ("maximum", "looks"),
    [
        (2, []),
        (3, [3]),
        (12, [*range(3, 13)]),
        (30, [*range(3, 16), 17, 19, 21, 23, 25, 28, 30]),
    ],
)
def test_looks_become_rarer_and_the_last_is_the_maximum(maximum: int, looks: list[int]) -> None:
    assert looks_until(maximum) == looks


@pytest.mark.parametrize(
    ("pilot", "looks"),
    [
        (5, [*range(5, 13)]),
        (12, [12]),
        (13, []),
    ],
)
def test_the_first_look_is_after_the_pilot(pilot: int, looks: list[int]) -> None:
    assert looks_until(12, pilot) == looks


def test_a_pilot_between_two_looks_is_one() -> None:
    assert looks_until(30, 20) == [20, 21, 23, 25, 28, 30]


@pytest.mark.parametrize(
    ("n", "mean", "sd"), [(3, 0.03, 0.01), (5, 0.0, 0.01), (8, 0.01, 0.02), (20, 0.0, 0.5)]
)
def test_the_expected_rounds_are_the_fewest_whose_interval_is_narrow_enough(
    n: int, mean: float, sd: float
) -> None:
    found = Look(None, n, mean, sd, math.nan)
    expected = rounds_expected(found, LIMITS, n)
    assert expected is not None
    nearer = max(mean, LIMITS.relevance - mean)
    assert LIMITS.quantile(expected) * sd / math.sqrt(expected) < nearer
    assert expected == n + 1 or LIMITS.quantile(expected - 1) * sd / math.sqrt(expected - 1) >= nearer
    # Each second round lost a block.
    assert rounds_expected(found, LIMITS, 2 * n) == 2 * expected


def test_values_without_spread_expect_nothing() -> None:
    assert rounds_expected(Look(None, 5, 0.01, 0.0, math.nan), LIMITS, 5) is None


def test_many_rounds_have_few_looks() -> None:
    found = looks_until(10_000)
    assert len(found) < 100
    assert found[-1] == 10_000
    assert found == sorted(set(found))


@pytest.mark.parametrize(
    ("mean", "outcome"), [(-0.1, "less"), (0.1, "greater"), (0.001, "equivalent"), (0.019, "greater")]
)
def test_a_clear_interval_is_an_answer(mean: float, outcome: str) -> None:
    found = look([mean + off for off in (0.001, -0.001, 0.0005, -0.0005)], LIMITS, 20)
    assert (found.outcome, found.n) == (outcome, 4)
    assert found.mean == pytest.approx(mean)


def test_a_small_difference_is_equivalent_though_it_is_known_to_be_one() -> None:
    found = look([0.01 + off for off in (0.0001, -0.0001, 0.00005)], LIMITS, 20)
    assert found.outcome == "equivalent"
    assert found.half_width < found.mean


def test_without_an_answer_measuring_goes_on_until_nothing_is_left() -> None:
    differences = [0.015 + off for off in (0.02, -0.02, 0.01, -0.01)]
    assert look(differences, LIMITS, 20).outcome is None
    assert look(differences, LIMITS, 0).outcome == "undecided"


def test_a_hopeless_comparison_ends_early_once_enough_is_seen() -> None:
    wide = [0.3, -0.3] * 6
    assert look(wide[:9], LIMITS, 20).outcome is None
    found = look(wide, LIMITS, 20)
    assert found.outcome == "undecided"
    assert found.chance < 0.05
    assert look(wide, Limits(LIMITS.t, math.log(4)), 20).outcome == "equivalent"


def test_the_chance_of_an_answer_is_that_of_a_simulation() -> None:
    """The share of continuations whose last look has an answer; their mean is as uncertain as that so far."""
    first = np.array([0.02 + 0.03 * x for x in (1, -1, 0.5, -0.5, 1.2, -1.2, 0.3, -0.3, 0.8, -0.8)])
    found = look(first.tolist(), LIMITS, 20)
    rng = np.random.default_rng(44)
    means_of_all = rng.normal(found.mean, found.sd / math.sqrt(10), (20_000, 1))
    rest = rng.normal(means_of_all, found.sd, (20_000, 20))
    means = (first.sum() + rest.sum(axis=1)) / 30
    half = LIMITS.t[28] * found.sd / math.sqrt(30)
    decided = (np.abs(means) > half) | (np.abs(means) + half < LIMITS.relevance)
    assert found.chance == pytest.approx(decided.mean(), abs=0.02)


def test_neighbours_that_resemble_each_other_are_dependent_and_others_seldom() -> None:
    rng = np.random.default_rng(45)
    alone = rng.standard_normal((1000, 30))
    walks = alone.cumsum(axis=1)
    assert sum(is_dependent(row.tolist()) for row in alone) < 25
    assert sum(is_dependent(row.tolist()) for row in walks) > 900
    assert is_dependent([1.0, -1.0] * 10)
    assert not is_dependent([1.0, -1.0] * 4)
    assert not is_dependent([2.0] * 20)
