"""Tables for runtimes: errors where nothing was measured before, speeds, shares of system classes, differences."""

from __future__ import annotations

from dataclasses import replace

from helpers.golden import Golden
from regatta.predict.forecast import ApplicationForecast, Forecast, PairForecast, SystemForecast
from regatta.predict.page import sections_of_forecast
from regatta.predict.runtime_tables import (
    DIFFERENCES,
    differences_table,
    held_out_table,
    runtime_tables,
    shares_table,
    speeds_table,
)
from regatta.spec.vectors import ApplicationVector, Contribution, Count, Measured, Prediction, Value

EXACT = Value.exact


def number(value: float, part: float = 0.1) -> Value:
    return Value(value, value * (1 - part), value * (1 + part), 5)


def system(name: str, times: dict[str, float], elapsed: float, ratio: float | None = None) -> SystemForecast:
    """`ratio`: predicted / measured elapsed time."""
    rows = tuple(
        Contribution(primitive, "operation", {}, EXACT(time), EXACT(1), EXACT(time), 0.0)
        for primitive, time in times.items()
    )
    time = EXACT(sum(times.values()))
    prediction = Prediction("app", name, "iteration", "ns", 0.95, time, EXACT(0), time, rows)
    found = SystemForecast(name, {"runtime": name}, prediction, EXACT(elapsed), EXACT(elapsed))
    if ratio is None:
        return found
    real = Measured(name, EXACT(elapsed / ratio), EXACT(0), EXACT(0), "ns")
    return replace(found, measured=real, ratios={"elapsed": number(ratio)})


def application(*systems: SystemForecast, name: str = "app", **more: object) -> ApplicationForecast:
    vector = ApplicationVector(
        name, "iteration", (Count("hash", EXACT(1)),), user_time=EXACT(1000),
        provenance={"system_share": "70.0 % [65.0, 75.0] (95 % CI, 300 samples of main)"}, pause_time=EXACT(100),
    )  # fmt: skip
    return ApplicationForecast(vector, systems, traced_on="17", **more)  # type: ignore[arg-type]


FAST = system("21", {"hash": 100, "read": 200}, 1000, 1.05)
TRACED = system("17", {"hash": 300, "read": 300}, 1200, 1.0)
SLOW = system("int", {"hash": 2100, "read": 200}, 5000, 1.5)


def test_errors_are_those_of_systems_on_which_the_application_was_not_traced(golden: Golden) -> None:
    table = held_out_table(
        [application(FAST, TRACED, SLOW), application(replace(FAST, ratios={"elapsed": number(0.92)}))]
    )
    assert [row[0] for row in table.rows] == ["21", "int", "all"]
    fast, slow, every = table.rows
    assert fast[1:] == ("2", "6.5 %", "7.7 %", "2 of 2", "within limits")
    assert slow[1:5] == ("1", "50.0 %", "50.0 %", "0 of 1")
    golden("exceeded limits", slow[5])
    assert every[1] == "3"


def test_speeds_are_relative_to_the_traced_system() -> None:
    pairs = (
        PairForecast(
            "21", "17", number(1.25), True, EXACT(1.25), "right", number(1.25), "elapsed", Value(2.0)
        ),
        PairForecast("17", "int", number(4.0), True),
        PairForecast("21", "int", number(5.0), True),
    )
    table = speeds_table([application(FAST, TRACED, SLOW, pairs=pairs)])
    assert [(row[1], row[2]) for row in table.rows] == [("21", "1.250"), ("int", "0.250")]
    assert [row[4] for row in table.rows] == ["1.250", ""]
    assert table.rows[0][-1] == "2.000"


def test_shares_are_of_the_predicted_elapsed_time() -> None:
    table = shares_table([application(FAST, TRACED, SLOW)])
    assert table.columns == ("application", "sampled", "21", "17", "int")
    assert table.rows == [("app", "70.0 % [65.0, 75.0]", "30.0 %", "50.0 %", "46.0 %")]


def test_a_difference_is_the_sum_of_its_primitives_own_code_and_pauses() -> None:
    table = differences_table(application(FAST, TRACED, SLOW))
    assert table.columns == DIFFERENCES
    assert "of app: int minus 21" in table.title
    shares = {row[0]: row[4] for row in table.rows}
    assert shares == {
        "hash": "50.0 %", "(own code)": "50.0 %", "read": "0.0 %", "(collector pauses)": "0.0 %", "total": "100.0 %",
    }  # fmt: skip


def test_many_primitives_are_summed() -> None:
    many = {f"p{n}": float(n) for n in range(30)}
    table = differences_table(
        application(system("a", dict.fromkeys(many, 0.0), 1.0), system("b", many, 436.0))
    )
    assert len(table.rows) == 11
    assert [row[0] for row in table.rows][-2:] == ["(others)", "total"]


def test_systems_without_runtimes_have_none_of_these_tables() -> None:
    found = Forecast((application(FAST, TRACED, SLOW),), 0.95)
    assert len(runtime_tables(found)) == 3
    assert "runtimes" in [section.anchor for section in sections_of_forecast(found)]
    bare = tuple(replace(one, provenance={}) for one in (FAST, TRACED, SLOW))
    assert runtime_tables(Forecast((application(*bare),), 0.95)) == []
