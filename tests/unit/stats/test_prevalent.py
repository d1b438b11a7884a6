"""Prevalent methods and the classes of table 4, by numbers that can be checked in one's head."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.one_at_a_time import classify
from regatta.stats.prevalent import (
    CLASSES,
    STATISTICS,
    STEADY_STATISTICS,
    class_shares,
    prevalent,
    prevalent_steady,
    relative_difference,
)

RUNS = np.array([5.0, 1.0, 2.0, 9.0])


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [("best", 1.0), ("second best", 2.0), ("worst", 9.0), ("mean", 4.25), ("median", 3.5)],
)
def test_each_method_reports_its_run_of_times(statistic: str, expected: float) -> None:
    assert prevalent(RUNS, statistic) == expected


@pytest.mark.parametrize(
    ("statistic", "expected"), [("best", 9.0), ("second best", 5.0), ("worst", 1.0), ("mean", 4.25)]
)
def test_of_rates_the_best_is_the_highest(statistic: str, expected: float) -> None:
    assert prevalent(RUNS, statistic, lower_is_better=False) == expected


def test_many_sets_of_runs_are_reported_at_once() -> None:
    found = prevalent(np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]), "second best")
    assert found.tolist() == [2.0, 5.0]


@pytest.mark.parametrize("statistic", STATISTICS)
def test_one_run_is_reported_by_every_method(statistic: str) -> None:
    assert prevalent(np.array([7.0]), statistic) == 7.0


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_run_without_a_number_leaves_none(statistic: str) -> None:
    assert math.isnan(prevalent(np.array([3.0, math.nan, 1.0]), statistic))


def test_no_runs_and_unknown_methods_are_wrong_calls() -> None:
    with pytest.raises(ValueError, match="at least one"):
        prevalent(np.array([]), "best")
    with pytest.raises(ValueError, match="luckiest"):
        prevalent(RUNS, "luckiest")
    with pytest.raises(ValueError, match="worst"):
        prevalent_steady(RUNS.reshape(2, 2), "worst")


def test_best_of_median_takes_the_median_of_each_iteration_first() -> None:
    table = np.array([[9.0, 4.0, 6.0], [8.0, 1.0, 5.0], [7.0, 5.0, 1.0]])
    assert prevalent_steady(table, "best of median") == 4.0
    assert prevalent_steady(table, "best") == 1.0
    assert prevalent_steady(table, "second best") == 1.0
    assert prevalent_steady(table, "best of median", lower_is_better=False) == 8.0


@pytest.mark.parametrize("statistic", STEADY_STATISTICS)
def test_steady_methods_take_many_tables_at_once(statistic: str) -> None:
    tables = np.arange(24.0).reshape(4, 3, 2)
    each = [float(prevalent_steady(table, statistic)) for table in tables]
    assert prevalent_steady(tables, statistic).tolist() == each


def test_a_difference_is_relative_to_the_smaller_number() -> None:
    a, b = np.array([110.0, 100.0, 5.0]), np.array([100.0, 110.0, 5.0])
    assert relative_difference(a, b) == pytest.approx([0.1, -0.1, 0.0])
    assert np.isnan(relative_difference(np.array([0.0, -1.0, math.nan]), np.array([1.0, 1.0, 1.0]))).all()


@pytest.mark.parametrize(
    ("verdict", "difference", "expected"),
    [
        (0, 0.009, "indicative"),
        (0, 0.011, "misleading"),
        (1, 0.009, "misleading but correct"),
        (1, 0.011, "correct"),
        (1, -0.009, "misleading and incorrect"),
        (1, -0.011, "incorrect"),
        (0, -0.011, "misleading"),
        (-1, -0.009, "misleading but correct"),
        (-1, -0.011, "correct"),
        (-1, 0.009, "misleading and incorrect"),
        (-1, 0.011, "incorrect"),
        # A difference of theta itself is not smaller than theta.
        (0, 0.01, "misleading"),
        (1, 0.01, "correct"),
    ],
)
def test_the_six_classes_of_table_4_at_theta_of_one_per_cent(
    verdict: int, difference: float, expected: str
) -> None:
    assert CLASSES[int(classify(verdict, np.array(difference), 0.01))] == expected


def test_equal_numbers_claim_nothing_even_at_theta_zero() -> None:
    found = classify(np.array([0, 1, -1]), np.zeros(3), 0.0)
    assert [CLASSES[i] for i in found] == [
        "indicative",
        "misleading and incorrect",
        "misleading and incorrect",
    ]


def test_what_has_no_difference_has_no_class() -> None:
    assert classify(1, np.array([math.nan, 0.5]), 0.01).tolist() == [-1, CLASSES.index("correct")]


@given(
    st.lists(st.floats(0.1, 1e6), min_size=1, max_size=12),
    st.sampled_from(STATISTICS),
    st.floats(0.5, 2.0),
)
def test_a_method_keeps_within_its_runs_and_follows_their_scale(
    runs: list[float], statistic: str, scale: float
) -> None:
    values = np.array(runs)
    found = float(prevalent(values, statistic))
    assert values.min() * (1 - 1e-12) <= found <= values.max() * (1 + 1e-12)
    assert float(prevalent(values * scale, statistic)) == pytest.approx(found * scale)
    assert float(prevalent(values[::-1], statistic)) == pytest.approx(found)


@given(st.floats(0.1, 1e3), st.floats(0.1, 1e3), st.sampled_from([-1, 0, 1]), st.floats(0.0, 0.1))
def test_naming_the_other_side_first_changes_no_class(a: float, b: float, verdict: int, theta: float) -> None:
    forth = classify(verdict, relative_difference(np.array(a), np.array(b)), theta)
    back = classify(-verdict, relative_difference(np.array(b), np.array(a)), theta)
    assert forth == back


@given(
    st.lists(st.tuples(st.sampled_from([-1, 0, 1]), st.integers(0, 2**32 - 1)), min_size=1, max_size=5),
    st.lists(st.sampled_from([0.0, 0.005, 0.01, 0.02, 0.03]), min_size=1, max_size=4, unique=True),
)
def test_shares_are_the_counts_of_classes_over_the_draws(
    comparisons: list[tuple[int, int]], thetas: list[float]
) -> None:
    verdicts = np.array([verdict for verdict, _ in comparisons])
    steps = np.array([-0.03, -0.01, -0.001, 0.0, 0.004, 0.01, 0.025, math.nan])
    draws = np.array([np.random.default_rng(seed).choice(steps, 7) for _, seed in comparisons])
    draws[:, 0] = 0.01
    found = class_shares(verdicts, draws, np.array(sorted(thetas)))
    assert found.sum(axis=2) == pytest.approx(np.ones(found.shape[:2]))
    for p, verdict in enumerate(verdicts):
        for t, theta in enumerate(sorted(thetas)):
            classes = classify(int(verdict), draws[p], theta)
            counts = [(classes == c).sum() for c in range(6)]
            assert found[p, t] == pytest.approx(np.array(counts) / sum(counts))


def test_a_comparison_without_any_draw_has_no_shares() -> None:
    assert np.isnan(class_shares(np.array([1]), np.array([[math.nan]]), np.array([0.01]))).all()
