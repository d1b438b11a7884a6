"""Many applications on many systems at once are what each would be alone."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.vector_examples import (
    application_of,
    application_vectors,
    constant,
    count_of,
    system_of,
    system_vectors,
)
from regatta.host.errors import RegattaError
from regatta.predict.grid import predict_many
from regatta.predict.prediction import predict
from regatta.spec.vectors import (
    ApplicationVector,
    ConstantCost,
    Count,
    LinearCost,
    PiecewiseCost,
    PrimitiveCost,
    Share,
    SystemVector,
    TableCost,
    TablePoint,
    Value,
)


def assert_the_same(applications: Sequence[ApplicationVector], systems: Sequence[SystemVector]) -> None:
    grid = predict_many(applications, systems)
    for a, application in enumerate(applications):
        for s, system in enumerate(systems):
            time = predict(application, system).time
            found = (grid.value[a, s], grid.low[a, s], grid.high[a, s])
            slack = 1e-9 * abs(time.value) if math.isfinite(time.value) else 0.0
            expected = (time.value, time.low, time.high)
            assert found == pytest.approx(expected, rel=1e-6, abs=max(slack, 1e-9), nan_ok=True)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_the_grid_has_what_each_prediction_has(data: st.DataObject) -> None:
    applications = [data.draw(application_vectors(f"a{n}")) for n in range(data.draw(st.integers(1, 3)))]
    systems = [data.draw(system_vectors(f"s{n}", beyond=True)) for n in range(data.draw(st.integers(1, 4)))]
    refused = {
        str(error)
        for application in applications
        for system in systems
        if (error := refusal_of(application, system)) is not None
    }
    if refused:
        with pytest.raises(RegattaError) as caught:
            predict_many(applications, systems)
        assert str(caught.value) in refused
    else:
        assert_the_same(applications, systems)


def refusal_of(application: ApplicationVector, system: SystemVector) -> RegattaError | None:
    try:
        predict(application, system)
    except RegattaError as error:
        return error
    return None


def test_a_cost_below_zero_is_refused_as_it_is_alone_even_in_one_part_of_a_distribution() -> None:
    points = (TablePoint((10.0,), Value.exact(4)), TablePoint((20.0,), Value.exact(1)))
    falling = PrimitiveCost("operation", TableCost(("bytes",), points, "extend"))
    shares = (Share({"bytes": 12.0}, 0.9), Share({"bytes": 30.0}, 0.1))
    parts = application_of(Count("r", Value.exact(2), distribution=shares), name="parts")
    for application in (application_of(count_of("r", 3, bytes=30), name="parts"), parts):
        told = "application parts, primitive r on system s2: expected a cost of at least 0 · got -2 ns at bytes=30"
        for call in (
            lambda one=application: predict(one, system_of("s2", r=falling)),
            lambda one=application: predict_many([one], [system_of("s1", r=constant(1)), system_of("s2", r=falling)]),
        ):  # fmt: skip
            with pytest.raises(RegattaError, match=re.escape(told)):
                call()
    held = PrimitiveCost("operation", TableCost(("bytes",), points))
    assert_the_same([parts], [system_of("s1", r=held)])
    # What is counted exactly 0 times has no cost that could be wrong.
    assert_the_same([application_of(count_of("r", 0, bytes=30))], [system_of("s2", r=falling)])


def test_constants_and_lines_of_one_primitive_may_stand_side_by_side() -> None:
    line = PrimitiveCost("operation", LinearCost("bytes", Value(5, 4, 7), Value(2, 1.5, 2.1)))
    other = PrimitiveCost("operation", LinearCost("pages", Value(5, 4, 7), Value(2, 1.5, 2.1)))
    systems = [
        system_of("s1", r=constant(9, 8, 11)),
        system_of("s2", r=line),
        system_of("s3", r=other),
        system_of("s4"),
    ]
    counts = [count_of("r", 3, 2, 5, bytes=10, pages=2), count_of("r", 1, bytes=40, pages=1)]
    assert_the_same(
        [application_of(*counts), application_of(counts[1], name="b")], [*systems, system_of("s5", x=line)]
    )


def test_sides_cross_where_a_coefficient_or_a_weight_is_below_zero() -> None:
    falling = PrimitiveCost("operation", LinearCost("bytes", Value(500, 490, 550), Value(-2, -3, -1.9)))
    points = (TablePoint((0.0,), Value(10, 9, 13)), TablePoint((1.0,), Value(20, 15, 21)))
    table = PrimitiveCost("operation", TableCost(("bytes",), points, "extend"))
    systems = [system_of("s1", r=falling), system_of("s2", r=table), system_of("s3", r=constant(1, 0, 3))]
    assert_the_same([application_of(count_of("r", 3, 2, 5, bytes=10), count_of("r", 1, bytes=0.5))], systems)


def test_many_predictions_need_no_single_one_where_costs_are_at_least_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A later piece meets 0 below 0, and a table goes on beyond its points: both are ordinary.
    pieces = ((Value(5, 4, 6), Value(1, 0.9, 1.2)), (Value(-90, -99, -80), Value(2, 1.9, 2.2)))
    later = PrimitiveCost("operation", PiecewiseCost("bytes", (100.0,), pieces))
    points = (TablePoint((0.0,), Value(10, 9, 13)), TablePoint((1.0,), Value(20, 15, 21)))
    beyond = PrimitiveCost("operation", TableCost(("bytes",), points, "extend"))
    systems = [system_of("s1", r=later), system_of("s2", r=beyond)]
    applications = [application_of(count_of("r", 3, 2, 5, bytes=150), count_of("r", 1, bytes=0.5))]
    assert_the_same(applications, systems)

    def refuse(application: ApplicationVector, system: SystemVector) -> None:
        raise AssertionError(f"{application.name} alone on {system.name}")

    monkeypatch.setattr("regatta.predict.grid.predict", refuse)
    assert np.isfinite(predict_many(applications, systems).low).all()


def test_what_is_not_known_of_one_system_spoils_no_other() -> None:
    unknown = PrimitiveCost("operation", ConstantCost(Value(3, n=1, reason="one invocation")))
    systems = [
        system_of("s1", a=unknown, b=constant(5)),
        system_of("s2", a=constant(3, 2, 4), b=constant(5)),
        SystemVector("s3", "ms", {"a": constant(math.nan), "b": constant(0)}),
    ]
    applications = [
        application_of(count_of("a", 2)),
        application_of(count_of("b", 2), name="b"),
        application_of(count_of("a", 0), count_of("b", 1, math.nan, math.nan), name="c"),
        application_of(count_of("a", 0, 0, 2), name="d"),
    ]
    assert_the_same(applications, systems)
    grid = predict_many(applications, systems)
    assert np.isnan(grid.low[0]).tolist() == [True, False, True]
    assert grid.applications == ("a", "b", "c", "d")
    assert grid.systems == ("s1", "s2", "s3")


def test_a_missing_argument_is_refused_as_it_is_alone() -> None:
    line = PrimitiveCost("operation", LinearCost("bytes", Value.exact(5), Value.exact(2)))
    with pytest.raises(
        RegattaError,
        match=re.escape("application a, primitive r: expected a finite number for the argument `bytes`"),
    ):
        predict_many(
            [application_of(count_of("r", 3))], [system_of("s1", r=constant(1)), system_of("s2", r=line)]
        )


def test_levels_that_differ_are_refused() -> None:
    other = SystemVector("s2", "ns", {"a": constant(3, 2, 4)}, level=0.99)
    with pytest.raises(RegattaError, match="one level"):
        predict_many([application_of(count_of("a", 1))], [system_of("s1", a=constant(3, 2, 4)), other])


def test_nothing_on_nothing_is_an_empty_grid() -> None:
    assert predict_many([], []).value.shape == (0, 0)
    assert predict_many([application_of(count_of("a", 1))], []).value.shape == (1, 0)
    assert predict_many([], [system_of(a=constant(1))]).low.shape == (0, 1)
