"""Intervals of vectors at another level of confidence."""

from __future__ import annotations

import math

import pytest

from regatta.models.predict.mixing import mixed
from regatta.models.predict.predictions import Request, RequestedApplication, forecast_of
from regatta.models.vectors.sources import SystemSource
from regatta.models.vectors.sums import at_level
from regatta.models.vectors.values import (
    ApplicationVector,
    ConstantCost,
    Count,
    LinearCost,
    PiecewiseCost,
    PrimitiveCost,
    SystemVector,
    Value,
)


def test_intervals_of_another_level_are_as_much_wider_as_students_quantiles() -> None:
    one = ApplicationVector("a", "run", (), 0.95, Value(100.0, 90.0, 115.0, 10))
    wider = at_level(one, 0.99).user_time
    assert wider is not None
    # Student's t with 9 degrees of freedom: 2.262 and 3.250
    assert (100 - wider.low) / 10 == pytest.approx(3.250 / 2.262, rel=1e-3)
    assert (wider.high - 100) / 15 == pytest.approx(3.250 / 2.262, rel=1e-3)
    exact = ApplicationVector("a", "run", (), 0.95, Value.exact(5.0))
    assert at_level(exact, 0.99).user_time == Value.exact(5.0)


def test_intervals_of_another_level_end_where_costs_counts_and_parts_do() -> None:
    few = Value(10.0, 1.0, 19.0, 3)
    cut, part = Value(10.0, 0.0, 22.0, 3), Value(0.9, 0.5, 1.0, 3)
    pieces = ((few, few), (Value(-5.0, -9.0, 0.0, 3), few))
    system = SystemVector("s", "ns", {
        "a": PrimitiveCost("operation", ConstantCost(few), part),
        "b": PrimitiveCost("operation", LinearCost("bytes", cut, few)),
        "c": PrimitiveCost("operation", PiecewiseCost("bytes", (8.0,), pieces)),
    })  # fmt: skip
    wider = at_level(system, 0.99).primitives
    # Student's t with 2 degrees of freedom: 4.303 and 9.925
    further = 9.925 / 4.303
    a, b, c = (wider[name].cost for name in "abc")
    assert isinstance(a, ConstantCost)
    assert isinstance(b, LinearCost)
    assert isinstance(c, PiecewiseCost)
    assert (a.cost.low, a.cost.high) == (0.0, pytest.approx(10 + 9 * further, rel=1e-3))
    assert (wider["a"].user_share.low, wider["a"].user_share.high) == (0.0, 1.0)
    assert (b.fixed.low, b.per.low) == (0.0, 0.0)
    (fixed, _), (later, per) = c.pieces
    assert (fixed.low, per.low) == (0.0, 0.0)
    assert (later.low, later.high) == pytest.approx((-5 - 4 * further, -5 + 5 * further), rel=1e-3)
    narrower = at_level(system, 0.5).primitives
    b = narrower["b"].cost
    assert isinstance(b, LinearCost)
    assert b.fixed.low == 0.0
    assert b.fixed.high < 22.0
    assert narrower["a"].user_share.high == 1.0
    counted = ApplicationVector("a", "run", (Count("a", few),), 0.95, few)
    more = at_level(counted, 0.99)
    assert more.counts[0].count.low == 0.0
    assert more.user_time is not None
    assert more.user_time.low == 0.0


def test_each_part_of_a_mix_is_brought_to_another_level_by_its_own_traces() -> None:
    few = ApplicationVector("few", "run", (Count("a", Value(10.0, 8.0, 12.0, 3)),))
    many = ApplicationVector("many", "run", (Count("a", Value(10.0, 8.0, 12.0, 30)),))
    parts = ((few, 0.5), (many, 0.5))
    asked = RequestedApplication(mixed("both", parts), parts)
    one = PrimitiveCost("operation", ConstantCost(Value.exact(1.0)))
    found = forecast_of(Request((asked,), (SystemSource(SystemVector("s", "ns", {"a": one})),), level=0.99))
    (count,) = found.applications[0].application.counts
    # Student's t with 2 degrees of freedom: 4.303 and 9.925; with 29: 2.045 and 2.756
    half = 0.5 * math.hypot(2 * 9.925 / 4.303, 2 * 2.756 / 2.045)
    assert (count.count.low, count.count.high) == pytest.approx((10 - half, 10 + half), rel=1e-3)
    assert found.applications[0].systems[0].prediction.time.low == pytest.approx(10 - half, rel=1e-3)
