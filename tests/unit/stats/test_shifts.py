"""Shifts of a level over experiments: found where they are, and seldom where they are not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.golden import Golden
from regatta.stats.ratios import welch_log_ratio
from regatta.stats.shifts import find_shifts


def _experiments(
    rng: np.random.Generator, levels: list[float], n: int = 10, spread: float = 0.02, day: float = 0.0
) -> list[np.ndarray]:
    return [level * np.exp(rng.normal(rng.normal(0.0, day) if day else 0.0, spread, n)) for level in levels]


def test_a_shift_is_found_with_welchs_ratio_of_all_invocations_on_either_side() -> None:
    groups = _experiments(np.random.default_rng(1), [1.0] * 2 + [1.1] * 2)
    found = find_shifts(groups)
    (shift,) = found.shifts
    assert (found.unit, shift.at, shift.before, shift.after) == ("invocations", 2, 2, 2)
    expected = welch_log_ratio(np.concatenate(groups[2:]), np.concatenate(groups[:2]))
    assert shift.ratio == expected
    assert shift.ratio.interval.low < 1.1 < shift.ratio.interval.high


def test_several_shifts_are_compared_with_their_neighbours_alone() -> None:
    groups = _experiments(np.random.default_rng(2), [1.0] * 3 + [1.2] * 3 + [0.9] * 2)
    found = find_shifts(groups)
    assert [shift.at for shift in found.shifts] == [3, 6]
    assert found.shifts[1].ratio.interval.point == pytest.approx(0.75, abs=0.02)


def test_two_experiments_can_differ() -> None:
    found = find_shifts(_experiments(np.random.default_rng(3), [1.0, 1.2]))
    assert [shift.at for shift in found.shifts] == [1]
    assert math.isnan(found.false_rate)
    assert math.isnan(found.autocorrelation)


def test_from_five_experiments_on_experiments_are_the_replicates() -> None:
    rng = np.random.default_rng(4)
    found = find_shifts(_experiments(rng, [1.0] * 8 + [1.4] * 8, spread=0.005, day=0.05))
    (shift,) = found.shifts
    assert (found.unit, shift.at) == ("experiments", 8)
    assert shift.ratio.interval.n == 16


def _correlated(
    rng: np.random.Generator, count: int, rho: float, day: float = 0.005, n: int = 10
) -> list[np.ndarray]:
    """Return unchanged experiments whose days have the standard deviation `day` and the autocorrelation `rho`."""
    days = [rng.normal()]
    for _ in range(count - 1):
        days.append(rho * days[-1] + math.sqrt(1.0 - rho**2) * rng.normal())
    return [np.exp(day * one + rng.normal(0.0, 0.01, n)) for one in days]


def test_correlated_nights_seldom_shift() -> None:
    rng = np.random.default_rng(11)
    alarms = sum(bool(find_shifts(_correlated(rng, 20, 0.5)).shifts) for _ in range(200))
    # 3 % by perf/accuracy/history.py; invocations as replicates give 31 %.
    assert alarms <= 16


def test_a_shift_of_correlated_nights_is_found_with_its_ratio() -> None:
    rng = np.random.default_rng(12)
    found = []
    for _ in range(40):
        groups = _correlated(rng, 20, 0.5)
        found.append(find_shifts([*groups[:12], *(1.02 * group for group in groups[12:])]))
    hits = [shift for one in found for shift in one.shifts if abs(shift.at - 12) <= 2]
    assert len(hits) >= 36
    assert sum(shift.ratio.interval.low <= 1.02 <= shift.ratio.interval.high for shift in hits) >= 0.85 * len(
        hits
    )
    assert {shift.ratio.interval.method for shift in hits} == {"ar1-log-t"}


def test_a_level_that_changes_and_returns_gives_two_shifts() -> None:
    groups = _experiments(np.random.default_rng(13), [1.0] * 8 + [1.1] * 5 + [1.0] * 8, day=0.003)
    assert [shift.at for shift in find_shifts(groups).shifts] == [8, 13]


def test_the_rate_of_false_shifts_rises_with_the_autocorrelation() -> None:
    rng = np.random.default_rng(14)
    calm, strong = (
        [find_shifts(_correlated(rng, 40, rho, day=0.02)) for _ in range(20)] for rho in (0.0, 0.7)
    )
    rates, correlations = (
        [np.mean([getattr(one, name) for one in group]) for group in (calm, strong)]
        for name in ("false_rate", "autocorrelation")
    )
    assert correlations[0] < 0.25 < 0.4 < correlations[1]
    assert 0.0 < rates[0] < 0.05 < rates[1] < 0.5


def test_equal_histories_give_equal_answers_in_any_unit() -> None:
    groups = _correlated(np.random.default_rng(15), 16, 0.4)
    groups[9:] = [1.05 * group for group in groups[9:]]
    first, second = find_shifts(groups), find_shifts([1e6 * group for group in groups])
    assert [shift.at for shift in first.shifts] == [shift.at for shift in second.shifts] == [9]
    assert first.shifts[0].ratio.p == pytest.approx(second.shifts[0].ratio.p, rel=1e-6)
    assert first.false_rate == pytest.approx(second.false_rate, rel=1e-6)


def test_a_change_of_the_spread_alone_is_no_shift() -> None:
    rng = np.random.default_rng(5)
    groups = [np.exp(rng.normal(0.0, 0.002 if i < 4 else 0.05, 12)) for i in range(8)]
    assert find_shifts(groups).shifts == ()


def test_nothing_shifts_by_chance_in_more_than_one_of_twenty() -> None:
    rng = np.random.default_rng(6)
    alarms = sum(
        bool(find_shifts(_experiments(rng, [1.0] * count)).shifts) for count in (2, 6, 15) for _ in range(60)
    )
    assert alarms <= 9


def test_experiments_that_differ_by_themselves_seldom_shift() -> None:
    rng = np.random.default_rng(7)
    alarms = sum(bool(find_shifts(_experiments(rng, [1.0] * 12, day=0.02)).shifts) for _ in range(100))
    assert alarms <= 15


@pytest.mark.parametrize(
    ("case", "groups"),
    [
        ("no experiment", []),
        ("empty experiments", [[], []]),
        ("one experiment", [[1.0, 2.0], []]),
        ("zero", [[1.0, 2.0], [0.0, 1.0]]),
        ("not a number", [[1.0, math.nan], [1.0]]),
    ],
)
def test_what_has_no_history_says_why(case: str, groups: list[list[float]], golden: Golden) -> None:
    found = find_shifts(groups)
    assert found.shifts == ()
    golden(case, found.reason)


def test_empty_experiments_are_passed_over() -> None:
    one, two, three = _experiments(np.random.default_rng(8), [1.0, 1.0, 1.3])
    found = find_shifts([one, [], two, [], three])
    assert [shift.at for shift in found.shifts] == [4]


def test_equal_values_and_single_invocations_show_nothing_and_do_not_crash() -> None:
    assert find_shifts([[1.0] * 5] * 4).shifts == ()
    assert find_shifts([[1.0] * 5] * 6 + [[2.0] * 5] * 6).shifts == ()
    assert find_shifts([[1.0], [1.1], [0.9], [1.05]]).shifts == ()
    assert find_shifts([[1.0], [1.1]]).shifts == ()


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([100, 102], [(1, 1.02)]),
        ([100, 100, 102], [(2, 1.02)]),
        ([100, 102, 104], [(1, 1.02), (2, 104 / 102)]),
        ([100] * 4, []),
        ([100] * 6 + [102] * 6, [(6, 1.02)]),
        ([100] * 8 + [102] * 2 + [100] * 8, [(8, 1.02), (10, 100 / 102)]),
        ([100] * 8, []),
        # One experiment alone is not a level.
        ([100] * 8 + [102], []),
    ],
)
def test_counts_that_do_not_vary_shift_exactly(
    counts: list[float], expected: list[tuple[int, float]]
) -> None:
    groups = [[float(count)] * 3 for count in counts]
    found = find_shifts(groups, 0.95, counted=True).shifts
    assert [(one.at, one.ratio.interval.point) for one in found] == expected
    for one in found:
        assert one.ratio.interval.is_exact
        assert (one.ratio.interval.low, one.ratio.p) == (one.ratio.interval.point, 0.0)


def test_counts_that_vary_between_experiments_are_judged_by_that_variation() -> None:
    random = np.random.default_rng(7)
    days = [1000 + int(day) for day in random.integers(-8, 9, 14)]
    groups = [[float(count)] * 3 for count in [*days[:7], *(count + 100 for count in days[7:])]]
    (shift,) = find_shifts(groups, 0.95, counted=True).shifts
    assert shift.at == 7
    assert not shift.ratio.interval.is_exact
    assert shift.ratio.interval.low < shift.ratio.interval.point < shift.ratio.interval.high


def test_the_level_is_a_probability() -> None:
    with pytest.raises(ValueError, match="level"):
        find_shifts([[1.0], [2.0]], 95)
