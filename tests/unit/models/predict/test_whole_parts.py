"""Collections and waits as parts of a predicted time: what they add, and what they leave as it was."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from helpers.vector_examples import application_of, constant, count_of, system_of
from regatta.models.predict.forecast import Forecast
from regatta.models.predict.parts import COLLECTIONS, DISK_WAITS, with_cost, with_part, without_pauses
from regatta.models.predict.predictions import Request, RequestedApplication, forecast_of
from regatta.models.predict.runtimes import differences_table, shares_table
from regatta.models.predict.tables import contribution_table, ranking_table
from regatta.models.predict.what_if import parse_change
from regatta.models.vectors.sources import SystemSource
from regatta.models.vectors.values import ApplicationVector, SystemVector, Value

#: 1000 ns in a method, twice as slow on the other system; own code for 2500 ns, of which 500 are pauses
HERE = replace(
    system_of("here", a=constant(500, user=1.0), user_work=constant(10)),
    provenance={"host": "h", "configuration": "none"},
)
THERE = replace(
    system_of("there", a=constant(1000, user=1.0), user_work=constant(20)),
    provenance={"host": "h", "configuration": "slow"},
)
APPLICATION = replace(
    application_of(count_of("a", 2), name="app", user=Value(3500, 3400, 3600, 3)),
    pause_time=Value(500, 450, 550, 3),
    provenance={"host": "h"},
)
OWN_NS = 3500 - 500 - 1000


def predicted(application: ApplicationVector, *systems: SystemVector, **more: object) -> Forecast:
    sources = tuple(SystemSource(one) for one in systems)
    return forecast_of(Request((RequestedApplication(application),), sources, **more))  # type: ignore[arg-type]


def with_collections(application: ApplicationVector = APPLICATION) -> ApplicationVector:
    return with_part(without_pauses(application), COLLECTIONS, "a model")


def costing(system: SystemVector, ns: float, low: float, high: float) -> SystemVector:
    return with_cost(system, COLLECTIONS, Value(ns, low, high), "some collections")


COSTS = (costing(HERE, 700, 650, 750), costing(THERE, 100, 90, 110))


def elapsed(found: Forecast) -> dict[str, float]:
    return {one.system: one.elapsed.value for one in found.applications[0].systems}


def test_pauses_of_the_target_replace_those_of_the_trace() -> None:
    before = elapsed(predicted(APPLICATION, HERE, THERE))
    assert before == {"here": 3500, "there": 2000 + 2 * OWN_NS + 500}
    after = elapsed(predicted(with_collections(), *COSTS))
    assert after == {"here": pytest.approx(3500 - 500 + 700), "there": 2000 + 2 * OWN_NS + 100}


def test_a_part_is_neither_kernel_time_nor_time_in_user_mode() -> None:
    found = predicted(with_collections(), *COSTS).applications[0]
    for one, ns in zip(found.systems, (700, 100), strict=True):
        assert one.parts == {COLLECTIONS: pytest.approx(ns)}
        assert one.kernel.value == 0.0
        assert one.user.value == pytest.approx(one.elapsed.value - ns)
        assert one.in_primitives == pytest.approx(one.prediction.time.value - ns)
        assert one.own_code == pytest.approx(OWN_NS * (1 if one.system == "here" else 2))
        assert one.provenance[COLLECTIONS] == "some collections"


def test_its_error_is_in_the_interval() -> None:
    exact = predicted(with_collections(), *(costing(one, 700, 700, 700) for one in (HERE, THERE)))
    wide = predicted(with_collections(), *(costing(one, 700, 0, 5000) for one in (HERE, THERE)))
    for one, other in zip(exact.applications[0].systems, wide.applications[0].systems, strict=True):
        assert other.elapsed.value == one.elapsed.value
        assert other.elapsed.low < one.elapsed.low
        assert other.elapsed.high > one.elapsed.high + 2000


def test_the_distance_of_systems_is_that_without_parts() -> None:
    """A disk that is a thousand times as slow makes the processor no other one."""
    near, far = (
        predicted(
            with_part(APPLICATION, DISK_WAITS, "a model"),
            with_cost(HERE, DISK_WAITS, Value.exact(0.0), ""),
            with_cost(THERE, DISK_WAITS, Value.exact(ns), ""),
        ).applications[0].systems[1]
        for ns in (0.0, 1e7)
    )  # fmt: skip
    assert far.elapsed.value == pytest.approx(near.elapsed.value + 1e7)
    assert far.elapsed.high / far.elapsed.value < near.elapsed.high / near.elapsed.value


def test_the_pauses_of_threads_are_not_divided_among_them() -> None:
    """Four threads use a method 8 times, so that each of them uses it twice; all wait for the collector."""
    counts = (count_of("a", 8),)
    several = replace(APPLICATION, counts=counts, parallelism=4.0)
    assert elapsed(predicted(with_collections(several), *COSTS)) == pytest.approx(
        elapsed(predicted(with_collections(), *COSTS))
    )


def test_a_system_without_its_cost_has_no_prediction() -> None:
    found = predicted(with_collections(), COSTS[0], THERE)
    assert math.isnan(elapsed(found)["there"])
    assert any(COLLECTIONS in warning for warning in found.warnings)
    unknown = with_cost(THERE, COLLECTIONS, Value(math.nan, reason="nothing measured"), "")
    found = predicted(with_collections(), COSTS[0], unknown)
    assert any("nothing measured" in warning for warning in found.warnings)


def test_a_part_can_be_changed_like_a_primitive() -> None:
    found = predicted(with_collections(), *COSTS, changes={COLLECTIONS: parse_change("0.5x")})
    effect = found.applications[0].effects["here"]
    assert effect.saved.value == pytest.approx(350)
    saving = predicted(with_collections(), *COSTS, optimise=True).applications[0].savings["here"]
    assert {one.primitive: one.best for one in saving}[COLLECTIONS] == "there"


def test_tables_show_a_part_on_its_own() -> None:
    found = predicted(with_collections(), *COSTS)
    (application,) = found.applications
    table = ranking_table(application)
    at = {name: number for number, name in enumerate(table.columns)}
    row = next(row for row in table.rows if row[0] == "here")
    numbers = [float(row[at[name]].replace(",", "")) for name in ("in primitives", "own code", COLLECTIONS)]
    assert sum(numbers) == pytest.approx(float(row[at["predicted elapsed"]].replace(",", "")), rel=0.01)
    entry = next(
        row for row in contribution_table(application, application.systems[0]).rows if row[0] == COLLECTIONS
    )
    assert "whole" not in " ".join(entry)
    assert COLLECTIONS in {row[0] for row in differences_table(application).rows}
    # 1000 of 3700 ns
    assert any("27" in cell for row in shares_table([application]).rows for cell in row)


def test_another_heap_is_not_compared_with_what_was_measured() -> None:
    request = Request((RequestedApplication(APPLICATION),), (SystemSource(HERE),), elsewhere=True)
    assert request.hypothetical
    assert not request.is_changed
    assert forecast_of(request).applications[0].effects == {}


def test_an_application_without_own_code_keeps_none() -> None:
    bare = replace(APPLICATION, user_time=None, pause_time=None)
    assert without_pauses(bare).user_time is None
