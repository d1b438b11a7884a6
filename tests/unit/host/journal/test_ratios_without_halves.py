"""The difference between the halves of a host is removed from ratios: least squares, intervals, and what is left alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from regatta.host.journal.halves import LEAST_ROUNDS, without_halves
from regatta.host.journal.stopping import Pair

logs = st.lists(st.floats(-1.0, 1.0, allow_subnormal=False), min_size=LEAST_ROUNDS, max_size=40)


def swapped(count: int) -> list[int]:
    return [-1 if at % 2 else 1 for at in range(count)]


@given(found=logs, effect=st.floats(-1.0, 1.0))
@settings(deadline=None)
def test_the_mean_and_the_spread_do_not_depend_on_the_effect(found: list[float], effect: float) -> None:
    sides = swapped(len(found))
    plain = without_halves(found, sides)
    moved = without_halves([d + effect * side for d, side in zip(found, sides, strict=True)], sides)
    assert moved == pytest.approx(plain, abs=1e-9)
    design = np.stack([np.ones(len(found)), np.array(sides)], axis=1)
    fit, *_ = np.linalg.lstsq(design, np.array(found), rcond=None)
    # The fitted mean, also if one side has a round more.
    mean = sum(d for d, s in zip(plain, sides, strict=True) if s > 0) / sides.count(1)
    assert mean == pytest.approx(fit[0], abs=1e-9)


@pytest.mark.parametrize("level", [0.95, 0.999])
@pytest.mark.parametrize("rounds", [10, 11, 13, 20, 30, 100])
@pytest.mark.parametrize("lost", [0, 2])
def test_the_paired_interval_is_at_least_that_of_the_fit(rounds: int, level: float, lost: int) -> None:
    random = np.random.default_rng(rounds)
    # Some rounds in which the first alternative had half 0 have no value.
    sides = [side for at, side in enumerate(swapped(rounds + lost)) if at >= 2 * lost or side < 0]
    found = random.normal(0.0, 0.1, rounds)
    design = np.stack([np.ones(rounds), np.array(sides)], axis=1)
    _, residuals, _, _ = np.linalg.lstsq(design, found, rcond=None)
    variance = np.linalg.inv(design.T @ design)[0, 0] * residuals[0] / (rounds - 2)
    of_fit = stats.t.ppf(0.5 + level / 2, rounds - 2) * math.sqrt(variance)
    plain = without_halves(found.tolist(), sides)
    paired = stats.t.ppf(0.5 + level / 2, rounds - 1) * stats.sem(plain)
    assert of_fit * 0.995 <= paired <= of_fit * 1.06


@pytest.mark.parametrize(
    ("found", "sides"),
    [([0.1, 0.2, 0.3], [1, -1, 1]), ([0.1] * 12, [1] * 12), ([0.1] * 12, [1] * 10 + [-1] * 2), ([], [])],
)
def test_too_few_rounds_and_one_side_change_nothing(found: list[float], sides: list[int]) -> None:
    assert without_halves(found, sides) == found


def test_a_comparison_is_looked_at_as_it_was_then() -> None:
    sides = swapped(12)
    pair = Pair(
        "a",
        "b",
        "",
        [0.2 * side + 0.01 * at for at, side in enumerate(sides)],
        rounds=range(3, 15),
        sides=sides,
    )
    assert pair.until(3 + 9) == list(pair.differences[:9])
    assert pair.until(3 + 10) == without_halves(pair.differences[:10], sides[:10])
    assert pair.until() == without_halves(pair.differences, sides)
    assert Pair("a", "b", "", [0.1, 0.2]).until() == [0.1, 0.2]
