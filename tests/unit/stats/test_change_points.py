"""Change points: exact against every partition, known places, no break in noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regatta.stats.change_points import change_points, change_points_of_rows, default_penalty, schwarz_penalty


def _cost(values: np.ndarray) -> float:
    return values.size * (math.log(values.var()) + 1.0)


def _best_of_all(x: np.ndarray, penalty: float, least: int, allowed: Sequence[int]) -> float:
    """The least cost among all partitions, tried one by one."""
    costs = []
    for count in range(len(allowed) + 1):
        for breaks in combinations(allowed, count):
            ends = (0, *breaks, x.size)
            if all(end - first >= least for first, end in pairwise(ends)):
                parts = sum(_cost(x[first:end]) for first, end in pairwise(ends))
                costs.append(parts + penalty * count)
    return min(costs)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(4, 12), st.floats(0.0, 30.0), st.integers(2, 4), st.booleans())
def test_no_partition_is_better(seed: int, n: int, penalty: float, least: int, everywhere: bool) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, 1.0, n) + np.repeat(rng.normal(0.0, 5.0, 3), 4)[:n]
    allowed = range(1, n) if everywhere else sorted(set(rng.integers(1, n, 4).tolist()))
    if n < 2 * least:
        return
    found = change_points(x, penalty, least, None if everywhere else allowed)
    assert set(found) <= set(allowed)
    ends = (0, *found, n)
    assert all(end - first >= least for first, end in pairwise(ends))
    cost = sum(_cost(x[first:end]) for first, end in pairwise(ends)) + penalty * len(found)
    assert cost == pytest.approx(_best_of_all(x, penalty, least, list(allowed)), abs=1e-6)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9, 1e300])
def test_a_change_of_the_mean_is_found_in_any_unit(unit: float) -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate((rng.normal(1.2, 0.01, 40), rng.normal(1.0, 0.01, 160))) * unit
    assert change_points(x) == (40,)


def test_a_change_of_the_variance_alone_is_found() -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate((rng.normal(1.0, 0.001, 300), rng.normal(1.0, 0.02, 300)))
    (found,) = change_points(x)
    assert abs(found - 300) <= 3


def test_a_shift_and_a_change_of_unit_move_no_break() -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(10.0 + (i % 3), 0.1, 50) for i in range(6)])
    assert change_points(x) == change_points(x * 1024.0 - 77.0) == (50, 100, 150, 200, 250)


def test_milliseconds_in_seconds_are_not_lost_in_a_fixed_floor_of_the_variance() -> None:
    rng = np.random.default_rng(4)
    x = np.concatenate((rng.normal(0.0012, 1e-5, 100), rng.normal(0.0010, 1e-5, 100)))
    assert change_points(x) == (100,)


def test_values_on_a_coarse_clock_are_not_cut_where_a_few_are_equal() -> None:
    rng = np.random.default_rng(5)
    x = np.round(rng.normal(100.0, 1.5, 1000))
    x[500:510] = 100.0
    assert change_points(x) == ()


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0], [5.0] * 50, [0.0] * 50, [1.0, math.nan] * 9])
def test_what_cannot_change_has_no_break(values: list[float]) -> None:
    assert change_points(values) == ()


def test_a_break_is_only_where_it_is_allowed() -> None:
    x = np.repeat([1.0, 2.0], 20) + np.tile([0.0, 0.01], 20)
    assert change_points(x) == (20,)
    assert change_points(x, allowed=[20, 30]) == (20,)
    assert change_points(x, allowed=[16]) == (16,)
    assert change_points(x, allowed=[]) == ()


def test_white_noise_has_no_break_by_the_default_price() -> None:
    rng = np.random.default_rng(6)
    wrong = sum(bool(change_points(rng.normal(1.0, 0.05, n))) for n in (20, 50, 200) for _ in range(150))
    assert wrong == 0


def test_the_usual_price_is_too_low_for_iterations() -> None:
    rng = np.random.default_rng(7)
    wrong = sum(bool(change_points(rng.normal(1.0, 0.05, 50), schwarz_penalty(50))) for _ in range(100))
    assert wrong > 20


def test_prices_are_those_of_the_papers() -> None:
    assert default_penalty(2000) == pytest.approx(15 * math.log(2000))
    assert schwarz_penalty(2000) == pytest.approx(3 * math.log(2000))


@pytest.mark.parametrize(("p", "n"), [(0, 30), (3, 3), (150, 40), (2, 600)])
def test_many_series_at_once_give_what_each_gives(p: int, n: int) -> None:
    rng = np.random.default_rng(n)
    table = rng.normal(1.0, 0.05, (p, n))
    table[::2, n // 3 :] *= 2.0
    if p > 5:
        table[3] = 1.0
        table[4, 2] = np.nan
    assert change_points_of_rows(table) == [change_points(row) for row in table]


def test_many_series_are_a_table() -> None:
    with pytest.raises(ValueError, match="dimensions"):
        change_points_of_rows([1.0, 2.0])


@pytest.mark.parametrize(
    "wrong", [{"least": 1}, {"penalty": -1.0}, {"penalty": math.nan}, {"allowed": [0]}, {"allowed": [9]}]
)
def test_a_wrong_call_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="expected"):
        change_points(range(9), **wrong)  # type: ignore[arg-type]
