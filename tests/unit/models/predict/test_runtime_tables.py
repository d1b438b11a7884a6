"""Tables for runtimes: errors where nothing was measured before, shares of system classes, differences."""

from __future__ import annotations

from dataclasses import replace

from helpers.golden import Golden
from helpers.runtime_forecasts import application, number, system
from regatta.models.predict.forecast import Forecast
from regatta.models.predict.page import sections_of_forecast
from regatta.models.predict.runtimes import (
    DIFFERENCES,
    differences_table,
    held_out_table,
    runtime_tables,
    shares_table,
)

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
