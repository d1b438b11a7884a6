"""Rare slow runs: found where they are far from the others, and not in heavy-tailed values."""

from __future__ import annotations

import numpy as np
import pytest

from regatta.host.journal.modes import slow_runs
from regatta.host.journal.stopping import Pair, Rule, decide
from regatta.planner.stopping import t_quantiles

CALM = [0.0, 0.011, -0.009, 0.004, -0.006, 0.002, 0.008, -0.003]


@pytest.mark.parametrize(
    ("slow", "count"), [([0.19], 1), ([0.18, 0.2], 2), ([0.1, 0.11], 2), ([0.05], 0), ([], 0), ([-0.2], 0)]
)
def test_slow_runs_are_counted_if_they_are_far_from_the_others(slow: list[float], count: int) -> None:
    assert slow_runs([*slow, *CALM], 0.01) == count


def test_a_gap_that_is_not_relevant_is_not_reported() -> None:
    tiny = [value / 1000 for value in [0.19, *CALM]]
    assert slow_runs(tiny, 0.01) == 0
    assert slow_runs(tiny, 0.0) == 1


def test_too_few_and_too_many_values_show_nothing() -> None:
    assert slow_runs([0.0, 0.001, 0.0005, 5.0], 0.01) == 0
    assert slow_runs([*np.linspace(0.0, 0.01, 100).tolist(), 5.0], 0.01) == 0


@pytest.mark.parametrize("n", [5, 10, 17, 30])
def test_heavy_tails_seldom_look_like_slow_runs(n: int) -> None:
    rng = np.random.default_rng(3)
    found = sum(slow_runs(row, 0.0) > 0 for row in rng.standard_t(3, (4000, n)).tolist())
    # 0.5 % of 4,000 are 20, with a standard error of 4.5.
    assert found <= 40


@pytest.mark.parametrize("side", ["a", "b"])
def test_one_slow_run_in_the_pilot_of_either_side_takes_the_maximum(side: str) -> None:
    rule = Rule("stein", 10, 30, 5.0, t_quantiles(0.95, 29))
    pilots = {name: [*CALM, 0.001, 0.005] for name in "ab"}
    differences = [0.001 * (-1) ** i for i in range(10)]
    assert decide(rule, [Pair("a", "b", "", differences)], pilots, 10).needed == 10
    pilots[side] = [*CALM, 0.001, 0.18]
    found = decide(rule, [Pair("a", "b", "", differences)], pilots, 10)
    assert (found.needed, found.modes) == (30, (side,))
    assert f"rounds of {side}:" in found.reason
