"""The steady window of Georges et al., section 4.2."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from helpers.one_at_a_time import steady_window
from regatta.stats.steady import steady_windows


def test_the_first_window_whose_variation_is_small_is_the_steady_state() -> None:
    values = [10.0, 5.0, 2.0, 1.01, 1.0, 0.99, 5.0, 1.0, 1.0, 1.0]
    found = steady_window(values, window=3, threshold=0.02)
    assert found.start == 3
    assert found.mean == pytest.approx(1.0)
    # Its coefficient of variation is 0.01.
    assert steady_window(values, 3, 0.010001).start == 3
    assert steady_window(values, 3, 0.009999).start == 7


def test_the_variation_must_lie_below_the_threshold_not_on_it() -> None:
    values = [0.5, 1.0, 1.5]  # CoV exactly 0.5
    assert steady_window(values, 3, 0.5).start == -1
    assert steady_window(values, 3, math.nextafter(0.5, 1.0)).start == 0


def test_equal_iterations_are_steady() -> None:
    assert steady_window([3.0] * 4, 4, 0.01).mean == 3.0


def test_a_steady_state_that_is_not_reached_has_no_mean() -> None:
    found = steady_window([1.0, 2.0, 4.0, 8.0], 2, 0.02)
    assert found.start == -1
    assert math.isnan(found.mean)
    # Each of its windows has this coefficient of variation.
    assert steady_window([1.0, 2.0, 4.0, 8.0], 2, math.sqrt(0.5) / 1.5 - 1e-9).start == -1
    assert steady_window([1.0, 2.0, 4.0, 8.0], 2, math.sqrt(0.5) / 1.5 + 1e-9).start == 0


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 1.0]])
def test_a_series_shorter_than_the_window_has_none(values: list[float]) -> None:
    found = steady_window(values, 3, 0.02)
    assert found.start == -1
    assert math.isnan(found.mean)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_no_window_reaches_across_what_is_no_positive_number(bad: float) -> None:
    values = [1.0, bad * 3, 1.0, 1.0, 1.0] if bad <= 0 else [1.0, bad, 1.0, 1.0, 1.0]
    assert steady_window(values, 3, 0.02).start == 2


def test_rows_of_a_table_may_end_early() -> None:
    table = np.full((2, 6), np.nan)
    table[0, :3] = 1.0, 1.0, 2.0
    table[1] = 9.0, 5.0, 3.0, 1.0, 1.0, 1.0
    found = steady_windows(table, 3, 0.02)
    assert found.start.tolist() == [-1, 3]


@pytest.mark.parametrize(("window", "threshold"), [(1, 0.02), (10, 0.0), (10, math.nan)])
def test_a_wrong_call_is_refused(window: int, threshold: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        steady_window([1.0], window, threshold)


def test_a_table_must_have_two_dimensions() -> None:
    with pytest.raises(ValueError, match="dimensions"):
        steady_windows([1.0, 2.0])


@given(
    hnp.arrays(float, st.tuples(st.integers(0, 6), st.integers(0, 30)), elements=st.floats(0.9, 1.1)),
    st.integers(2, 8),
    st.floats(0.001, 0.1),
)
def test_a_table_gives_what_a_loop_over_its_windows_gives(
    table: np.ndarray, window: int, threshold: float
) -> None:
    found = steady_windows(table, window, threshold)
    for row, start, mean in zip(table, found.start, found.mean, strict=True):
        covs = [
            row[i : i + window].std(ddof=1) / row[i : i + window].mean() for i in range(row.size - window + 1)
        ]
        # What lies on the threshold may fall on either side of it.
        if any(abs(cov - threshold) < 1e-9 for cov in covs):
            continue
        first = next((i for i, cov in enumerate(covs) if cov < threshold), -1)
        assert start == first
        assert math.isnan(mean) if first < 0 else mean == pytest.approx(row[first : first + window].mean())


def test_a_table_too_large_for_one_step_is_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(7).normal(100.0, 3.0, (40, 60))
    whole = steady_windows(table, 5, 0.015)
    monkeypatch.setattr("regatta.stats.steady._AT_ONCE", 50)
    parts = steady_windows(table, 5, 0.015)
    assert parts.start.tolist() == whole.start.tolist()
    np.testing.assert_allclose(parts.mean, whole.mean)
    assert 0 < (whole.start < 0).sum() < 40
