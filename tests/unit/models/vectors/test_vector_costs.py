"""What a primitive costs at given arguments: worked by hand, and against scipy's interpolation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

from regatta.host.errors import RegattaError
from regatta.models.vectors.costs import evaluate, weights, weights_of_count
from regatta.models.vectors.values import (
    ConstantCost,
    Count,
    LinearCost,
    PiecewiseCost,
    Share,
    TableCost,
    TablePoint,
    Value,
)


def exact(value: float) -> Value:
    return Value.exact(value)


def table(outside: str = "hold") -> TableCost:
    points = [(10.0, 100.0), (20.0, 140.0), (40.0, 150.0)]
    return TableCost(
        ("bytes",),
        tuple(TablePoint((at,), exact(cost)) for at, cost in points),
        outside,  # type: ignore[arg-type]
    )


def test_a_constant_asks_for_no_argument() -> None:
    assert evaluate(ConstantCost(Value(5.0, 4.0, 7.0)), {}) == Value(5.0, 4.0, 7.0)


def test_a_line_adds_its_errors_as_the_root_of_their_squares() -> None:
    cost = LinearCost("bytes", Value(100.0, 97.0, 106.0), Value(2.0, 1.6, 2.8))
    found = evaluate(cost, {"bytes": 10.0})
    # 100 + 2 x 10; below: sqrt(3^2 + (0.4 x 10)^2) = 5; above: sqrt(6^2 + (0.8 x 10)^2) = 10
    assert (found.value, found.low, found.high) == pytest.approx((120.0, 115.0, 130.0))


@pytest.mark.parametrize(("at", "expected"), [(10, 100), (15, 120), (20, 140), (30, 145), (40, 150)])
def test_a_table_interpolates_between_its_points(at: float, expected: float) -> None:
    assert evaluate(table(), {"bytes": at}).value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("outside", "at", "expected"),
    [("hold", 5, 100), ("hold", 1e9, 150), ("extend", 5, 80), ("extend", 60, 160)],
)
def test_beyond_a_table_the_nearest_value_holds_or_the_last_line_goes_on(
    outside: str, at: float, expected: float
) -> None:
    assert evaluate(table(outside), {"bytes": at}).value == pytest.approx(expected)


def test_an_extended_table_crosses_the_sides_of_the_point_that_counts_against_it() -> None:
    points = (TablePoint((0.0,), Value(10.0, 9.0, 13.0)), TablePoint((1.0,), Value(20.0, 20.0, 20.0)))
    found = evaluate(TableCost(("x",), points, "extend"), {"x": 2.0})
    # 2 x 20 - 10: the first point's 3 above is what makes the result smaller.
    assert (found.value, found.low, found.high) == pytest.approx((30.0, 27.0, 31.0))


def test_a_table_of_one_point_holds_everywhere() -> None:
    cost = TableCost(("x",), (TablePoint((3.0,), exact(7.0)),), "extend")
    assert [evaluate(cost, {"x": x}).value for x in (-1.0, 3.0, 99.0)] == [7.0, 7.0, 7.0]


def test_a_table_of_three_arguments_agrees_with_scipy_in_its_grid_and_beyond() -> None:
    axes = ([1.0, 2.0, 5.0], [0.0, 10.0], [3.0, 4.0, 8.0, 9.0])
    random = np.random.default_rng(7)
    values = random.uniform(1, 100, [len(axis) for axis in axes])
    places = list(itertools.product(*axes))
    random.shuffle(places)
    points = tuple(
        TablePoint(at, exact(values[tuple(axis.index(x) for axis, x in zip(axes, at, strict=True))]))
        for at in map(tuple, places)
    )
    cost = TableCost(("a", "b", "c"), points, "extend")
    theirs = RegularGridInterpolator(axes, values, bounds_error=False, fill_value=None)
    for at in random.uniform((-1, -5, 0), (8, 15, 12), (200, 3)):
        found = evaluate(cost, dict(zip("abc", at, strict=True)))
        # A cost cannot be below 0, but the line may lead there: the value is told as it is.
        assert found.value == pytest.approx(float(theirs(at)[0]), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("at", "expected"), [(0, 10), (99, 109), (100, 250), (999, 1149), (1000, 3000)])
def test_a_piece_holds_from_its_break_up_to_below_the_next(at: float, expected: float) -> None:
    pieces = ((exact(10.0), exact(1.0)), (exact(150.0), exact(1.0)), (exact(0.0), exact(3.0)))
    assert evaluate(PiecewiseCost("bytes", (100.0, 1000.0), pieces), {"bytes": at}).value == expected


def test_a_distribution_is_the_sum_of_its_shares() -> None:
    cost = LinearCost("bytes", exact(100.0), exact(2.0))
    shares = (Share({"bytes": 10.0}, 0.75), Share({"bytes": 50.0}, 0.25))
    assert weights_of_count(cost, Count("read", exact(1.0), distribution=shares)) == [(0, 1.0), (1, 20.0)]


@pytest.mark.parametrize("given", [{}, {"size": 3.0}, {"bytes": math.nan}, {"bytes": math.inf}])
def test_a_missing_argument_is_named_with_whose_cost_it_is(given: dict[str, float]) -> None:
    cost = LinearCost("bytes", exact(1.0), exact(1.0))
    with pytest.raises(RegattaError, match=r"file_read on x: .*`bytes`"):
        weights(cost, given, "file_read on x")


def test_a_table_with_a_hole_is_refused_where_it_matters() -> None:
    points = tuple(TablePoint(at, exact(1.0)) for at in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0)))
    cost = TableCost(("a", "b"), points)
    assert evaluate(cost, {"a": 0.0, "b": 0.5}).value == 1.0
    with pytest.raises(RegattaError, match=r"got none at \[1\.0, 1\.0\]"):
        evaluate(cost, {"a": 0.5, "b": 0.5})
