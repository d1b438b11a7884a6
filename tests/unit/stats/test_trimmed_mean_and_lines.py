"""The trimmed mean of HBench, and lines through costs by relative errors, against known answers and other programs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.stats import trim_mean

from regatta.stats.lines import relative_line
from regatta.stats.trimmed import trimmed_mean

#: Wilcox, "Introduction to Robust Estimation and Hypothesis Testing", 3rd edition, table 3.2: the self-awareness data
SELF_AWARENESS = [
    77,
    87,
    88,
    114,
    151,
    210,
    219,
    246,
    253,
    262,
    296,
    299,
    306,
    376,
    428,
    515,
    666,
    1310,
    2611,
]


def test_the_20_percent_trimmed_mean_of_a_textbook_is_found() -> None:
    assert trimmed_mean(SELF_AWARENESS, 20) == pytest.approx(282.7, abs=0.05)


def test_so_many_values_are_dropped_at_each_end_and_no_part_of_one() -> None:
    values = [1000.0, 1, 2, 3, 4, 5, 6, 7, 8, -1000]
    assert trimmed_mean(values, 10) == pytest.approx(4.5)
    assert trimmed_mean(values, 9.9) == pytest.approx(3.6)
    assert trimmed_mean(values, 0) == pytest.approx(3.6)
    # 10 % of 30 are 3, although 0.1 * 30 is a little more.
    assert trimmed_mean([*range(27), 1e9, 1e9, 1e9], 10) == pytest.approx(float(np.mean(range(3, 27))))
    assert math.isnan(trimmed_mean([], 10))
    assert math.isnan(trimmed_mean([1.0, math.nan], 10))
    for percent in (-1, 50, math.nan):
        with pytest.raises(ValueError, match="from 0 to below 50"):
            trimmed_mean([1.0], percent)


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=40), st.integers(0, 49))
def test_the_trimmed_mean_is_scipys(values: list[float], percent: int) -> None:
    # scipy's own product may fall below a whole number by rounding.
    if percent * len(values) % 100 or not percent:
        scale = max(map(abs, values)) or 1.0
        assert trimmed_mean(values, percent) == pytest.approx(
            trim_mean(values, percent / 100), abs=1e-9 * scale
        )


sizes = st.lists(st.integers(0, 2**24), min_size=2, max_size=12, unique=True)


@given(sizes, st.floats(1, 1e6), st.floats(1e-4, 10))
def test_a_line_is_found_again(x: list[int], fixed: float, per: float) -> None:
    found = relative_line(x, [fixed + per * size for size in x])
    for size in x:
        assert found.at(size) == pytest.approx(fixed + per * size, rel=1e-6)


@given(st.data(), sizes)
def test_no_other_line_without_a_negative_part_has_smaller_relative_errors(
    data: st.DataObject, x: list[int]
) -> None:
    y = np.array(data.draw(st.lists(st.floats(1, 1e4), min_size=len(x), max_size=len(x))))
    found = relative_line(x, y)
    assert min(found.fixed, found.per) >= 0
    scale = max(x)
    columns = np.column_stack((1 / y, np.array(x) / scale / y))
    least = nnls(columns, np.ones(len(x)))[1]
    error = np.linalg.norm(columns @ [found.fixed, found.per * scale] - 1)
    assert error <= least * (1 + 1e-6) + 1e-9


def test_the_small_sizes_count_as_much_as_the_large() -> None:
    """A large size that is 5 % off moves the fixed part by some per cent, not by many times its value."""
    x = np.array([64, 1024, 16384, 262144, 1048576])
    y = 500 + 0.1 * x
    y[-1] *= 1.05
    assert relative_line(x, y).fixed == pytest.approx(500, rel=0.03)
    assert abs(np.polyfit(x, y, 1)[1] - 500) > 250


def test_a_line_through_too_little_is_refused() -> None:
    for x, y in (([1, 1], [2, 3]), ([1], [2]), ([1, 2], [0, 1]), ([-1, 2], [1, 1]), ([1, 2], [math.nan, 1])):
        with pytest.raises(ValueError, match="expected"):
            relative_line(x, y)
