"""Lag-1 autocorrelation: NIST's certified values, limits that hold for independent values, and what has none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.stats.dependence import LEAST, lag_1


@pytest.mark.parametrize("base", [1.2, 1_000_000.2, 10_000_000.2])
def test_nists_data_sets_of_numerical_accuracy(base: float) -> None:
    """NumAcc2, 3 and 4: the certified autocorrelation is -0.999."""
    values = [base, *[base - 0.1, base + 0.1] * 500]
    assert lag_1(values).autocorrelation == pytest.approx(-0.999, abs=1e-6)


def test_a_line_resembles_its_neighbours_and_a_saw_does_not() -> None:
    assert lag_1(range(30)).beyond
    assert lag_1(range(30)).autocorrelation == pytest.approx(0.9, abs=1e-12)
    saw = lag_1([1, -1] * 15)
    assert saw.autocorrelation == pytest.approx(-29 / 30)
    assert saw.beyond


@pytest.mark.parametrize("n", [8, 30])
def test_independent_values_keep_within_the_limits_as_often_as_the_level_says(n: int) -> None:
    rng = np.random.default_rng(20070101)
    tries = 4000
    found = [lag_1(rng.normal(100, 3, n)) for _ in range(tries)]
    assert np.mean([one.autocorrelation for one in found]) == pytest.approx(-1 / n, abs=0.015)
    out = sum(one.beyond for one in found) / tries
    assert 0.03 < out < 0.06


def test_dependent_values_are_noticed() -> None:
    rng = np.random.default_rng(20070101)
    noticed = 0
    for _ in range(200):
        values = [rng.normal()]
        for _ in range(29):
            values.append(0.7 * values[-1] + rng.normal())
        noticed += lag_1(values).beyond
    assert noticed > 140


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "0 values"),
        ([1.0, 2.0, 3.0, 4.0], f"needs {LEAST}"),
        ([3.3] * 9, "no spread"),
        ([1e16, 1e16 + 2, 1e16, 1e16 + 2, 1e16], "no spread"),
        ([1.0, 2.0, math.nan, 4.0, 5.0], "not a number"),
        ([1.0, 2.0, math.inf, 4.0, 5.0], "not a number"),
    ],
)
def test_what_cannot_be_said_is_nan_with_a_reason_and_never_beyond(values: list[float], reason: str) -> None:
    found = lag_1(values)
    assert math.isnan(found.autocorrelation)
    assert math.isnan(found.low)
    assert reason in found.reason
    assert not found.beyond


def test_a_wrong_level_is_a_wrong_call() -> None:
    with pytest.raises(ValueError, match="level"):
        lag_1([1, 2, 3, 4, 5, 6], 1.5)


@given(
    st.lists(st.integers(-1000, 1000), min_size=LEAST, max_size=40).filter(lambda v: max(v) > min(v)),
    st.floats(0.001, 1000),
    st.integers(-1000, 1000),
)
def test_neither_unit_nor_origin_nor_the_direction_of_time_matters(
    values: list[int], scale: float, shift: int
) -> None:
    found = lag_1(values)
    assert -1 <= found.autocorrelation <= 1
    assert found.low < -1 / len(values) < found.high
    assert lag_1([scale * (v + shift) for v in values]).autocorrelation == pytest.approx(
        found.autocorrelation, abs=1e-6
    )
    assert lag_1(values[::-1]).autocorrelation == pytest.approx(found.autocorrelation, abs=1e-12)
    assert lag_1([-v for v in values]).autocorrelation == pytest.approx(found.autocorrelation, abs=1e-12)


def test_tiny_values_have_one_too() -> None:
    assert lag_1([v * 1e-200 for v in range(10)]).autocorrelation == pytest.approx(
        lag_1(range(10)).autocorrelation
    )
