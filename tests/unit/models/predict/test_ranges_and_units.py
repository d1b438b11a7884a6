"""Costs that are used where nobody measured them, and systems whose costs are of different units."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.golden import Golden
from helpers.vector_examples import application_of, constant, count_of, system_of
from regatta.host.errors import RegattaError
from regatta.models.predict.accuracy import beyond
from regatta.models.predict.ranking import rank
from regatta.models.predict.what_if import optimise
from regatta.models.vectors.fits import fit
from regatta.models.vectors.primitives import CostSpec
from regatta.models.vectors.sums import UNBOUNDED, Sum, ratio
from regatta.models.vectors.values import (
    Count,
    LinearCost,
    PrimitiveCost,
    Share,
    TableCost,
    TablePoint,
    Value,
)

LINE = LinearCost("bytes", Value.exact(100), Value.exact(0.1))
MEASURED = PrimitiveCost("operation", LINE, measured={"bytes": (1024.0, 16384.0)})


def test_uses_outside_of_what_was_measured_are_told_with_their_time() -> None:
    inside = application_of(count_of("read", 3, bytes=1024), count_of("read", 3, bytes=16384))
    system = system_of(read=MEASURED, null=constant(5))
    assert beyond(inside, system) == ()
    parts = (Share({"bytes": 1000.0}, 0.5), Share({"bytes": 2000.0}, 0.3), Share({"bytes": 100_000.0}, 0.2))
    outside = application_of(Count("read", Value.exact(10), distribution=parts), count_of("null", 7))
    (found,) = beyond(outside, system)
    assert (found.primitive, found.argument) == ("read", "bytes")
    assert (found.low, found.high, found.least, found.largest) == (1024, 16384, 1000, 100_000)
    assert found.time == pytest.approx(5 * (100 + 100) + 2 * (100 + 10_000))


def test_a_table_tells_its_range_by_its_points_and_a_range_that_nobody_tells_holds_everything() -> None:
    points = tuple(TablePoint((at,), Value.exact(cost)) for at, cost in ((1024, 100), (16384, 1600)))
    table = PrimitiveCost("operation", TableCost(("bytes",), points))
    application = application_of(count_of("read", 1, bytes=1e6))
    (found,) = beyond(application, system_of(read=table))
    assert (found.high, found.largest, found.time) == (16384, 1e6, 1600)
    assert beyond(application, system_of(read=replace(MEASURED, measured={}))) == ()
    nothing = application_of(count_of("read", 0, bytes=1e6))
    assert beyond(nothing, system_of(read=table)) == ()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (CostSpec(linear="bytes"), {"bytes": (1, 4)}),
        (CostSpec(piecewise="bytes", breaks=[2.0]), {"bytes": (1, 4)}),
        (CostSpec(per_of="bytes"), {}),
    ],
)
def test_a_fitted_line_knows_where_it_was_measured(rule: CostSpec, expected: dict[str, object]) -> None:
    points = {(size,): 10.0 + size for size in (1.0, 2.0, 3.0, 4.0)}
    assert fit(rule, [points, points], 0.95).measured == expected


def test_systems_whose_costs_are_of_different_units_are_not_compared(golden: Golden) -> None:
    by_byte = system_of("a", transfer=PrimitiveCost("byte", constant(0.3).cost), other=constant(1))
    by_mib = system_of("b", transfer=PrimitiveCost("MiB", constant(314572.8).cost), other=constant(1))
    application = application_of(count_of("transfer", 15000))
    for refused in (
        lambda: rank(application, [by_byte, by_mib]),
        lambda: optimise(application, by_byte, 1.0, [by_mib]),
    ):
        with pytest.raises(RegattaError) as caught:
            refused()
        golden("different units", str(caught.value))
    assert rank(application_of(count_of("other", 1)), [by_byte, by_mib]).systems


def test_a_ratio_to_what_may_be_0_but_for_rounding_has_no_upper_end() -> None:
    under = Sum(3.0, {"cost": (3.0, 1.0 - 1e-16, 1.0), "more": (1e-9, 1e-9, 1e-9)})
    almost = Sum(3.0, {"cost": (3.0, 1.0 - 1e-14, 1.0)})
    for one in (under, almost):
        found = ratio(Sum(6.0), one)
        assert found.value == 2
        assert found.reason == UNBOUNDED
        assert not found.high < 1e9
