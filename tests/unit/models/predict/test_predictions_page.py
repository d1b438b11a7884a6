"""The page of predictions: what each figure and table says, whatever the names are."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import pytest

from regatta.figures.axes import Group
from regatta.figures.text import ABSENT
from regatta.models.predict.forecast import (
    ApplicationForecast,
    Forecast,
    PairForecast,
    SpeedUp,
    SystemForecast,
)
from regatta.models.predict.page import sections_of_forecast, write_predictions
from regatta.models.predict.tables import pairs_table, throughput_table
from regatta.models.vectors.values import ApplicationVector, Contribution, Count, Measured, Prediction, Value

#: why one entry stands for others, as a vector says it
RULE = "the cheapest call"
HOSTILE = "</script><b>&amp;$x$\u202e"


def number(value: float, part: float = 0.1) -> Value:
    return Value(value, value * (1 - part), value * (1 + part), 5)


USER = number(500.0)


def system(name: str, factor: float = 1.0, entries: int = 3, measured: float | None = None) -> SystemForecast:
    rows = tuple(
        Contribution(f"primitive_{n}", "operation", {"bytes": 512.0} if n == 1 else {}, number(1e3 * factor), number(1.0 + n),
                     number(1e3 * factor * (1 + n)), (1 + n) / sum(range(1, entries + 1)), 0.0,
                     ("getpid", "times") if n == 0 else (), RULE if n == 0 else "")
        for n in range(entries)
    )  # fmt: skip
    time = number(sum(row.time.value for row in rows))
    prediction = Prediction("app", name, "request", "ns", 0.95, time, time, Value.exact(0.0), rows)
    found = SystemForecast(
        name, {"host": name}, prediction, number(time.value + 500), time, Value.exact(500.0)
    )
    if measured is None:
        return found
    real = Measured(name, number(measured, 0.01), number(measured - 500, 0.01), Value.exact(500.0), "ns")
    return replace(found, measured=real, ratios={"elapsed": number(found.elapsed.value / measured, 0.02)})


def forecast(
    *systems: SystemForecast, name: str = "app", user: Value | None = USER, **more: object
) -> Forecast:
    counts = (Count("primitive_0", Value.exact(1.0)),)
    vector = ApplicationVector(name, "request", counts, user_time=user)
    pairs = tuple(
        PairForecast(a.system, b.system, number(2.0), True, *((number(1.9, 0.01), "right") if a.measured else ()))
        for a, b in itertools.pairwise(systems)
    )  # fmt: skip
    one = ApplicationForecast(vector, systems, pairs, more.pop("groups", ()))  # type: ignore[arg-type]
    return Forecast((one,), 0.95, **more)  # type: ignore[arg-type]


def topic(found: Forecast, anchor: str):  # type: ignore[no-untyped-def]
    return next(one for one in sections_of_forecast(found) if one.anchor == anchor)


def test_bars_are_as_long_as_the_whole_predicted_time_and_in_the_order_of_the_ranking() -> None:
    found = forecast(system("fast"), system("slow", 2.0))
    (group,) = topic(found, "contributions").groups
    (figure,) = group.figures
    ends = [sum(trace["x"][place] for trace in figure.traces) for place in (0, 1)]
    assert ends == pytest.approx([6.5, 12.5])
    places = figure.traces[0]["y"]
    assert places[0] > places[1], "the fastest is at the top"
    assert [entry.name for entry in group.legend] == [
        "primitive_2", "primitive_1", "primitive_0", "application in user mode",
    ]  # fmt: skip
    colours = [trace["marker"]["color"] for trace in figure.traces]
    assert len(set(colours)) == len(colours)


def test_many_entries_share_the_last_colour_and_none_is_lost() -> None:
    found = forecast(system("one", entries=30))
    (figure,) = topic(found, "contributions").groups[0].figures
    assert sum(trace["x"][0] for trace in figure.traces) == pytest.approx(
        (sum(range(1, 31)) * 1e3 + 500) / 1e3
    )
    assert len(figure.traces) == 9
    legend = [entry.name for entry in topic(found, "contributions").groups[0].legend]
    assert "23 others" in legend


def test_approximated_entries_say_what_they_stand_for_and_why() -> None:
    (table,) = topic(forecast(system("one")), "entries").tables
    rows = {row[0]: row for row in table.rows}
    assert rows["primitive_0"][-1] == f"getpid, times ({RULE})"
    assert rows["primitive_1"][table.columns.index("arguments")] == "bytes 512"
    assert table.rows[-1][0] == "total"
    assert [row[0] for row in table.rows[:3]] == ["primitive_2", "primitive_1", "primitive_0"]


def test_methods_of_a_library_have_no_part_in_the_kernel() -> None:
    one = system("a")
    none = Value.exact(0.0)
    java = replace(one, prediction=replace(one.prediction, kernel=none))
    unknown = replace(
        one, system="b", prediction=replace(one.prediction, time=Value(math.nan), kernel=Value(math.nan))
    )
    table = topic(forecast(java, unknown), "ranking").tables[0]
    assert table.columns == ("system", "predicted elapsed", "CI", "in primitives", "own code")
    assert table.rows[0][3:] == ("6.00", "0.50")


def test_measured_columns_and_figures_are_there_only_where_something_was_measured() -> None:
    plain = forecast(system("a"), system("b", 2.0))
    assert topic(plain, "ranking").tables[0].columns == (
        "system", "predicted elapsed", "CI", "predicted kernel", "predicted user",
    )  # fmt: skip
    assert "accuracy" not in [one.anchor for one in sections_of_forecast(plain)]
    told = forecast(system("a", measured=7000.0), system("b", 2.0, measured=12000.0))
    assert "measured elapsed" in topic(told, "ranking").tables[0].columns
    (figure,) = topic(told, "accuracy").groups[0].figures
    # the line, and a point a system
    assert len(figure.traces) == 3
    assert [trace["x"] for trace in figure.traces[1:]] == [[7.0], [12.0]]
    assert topic(told, "accuracy").tables[0].rows[0][-1] == "right"


def without_user_time(name: str, kernel: float, measured: float) -> SystemForecast:
    """A third of its primitives' time is spent in user mode."""
    one = system(name)
    prediction = replace(one.prediction, time=number(1.5 * kernel), kernel=number(kernel))
    real = Measured(name, number(measured + 90e3), number(measured), number(90e3), "ns")
    ratios = {"kernel": number(kernel / measured, 0.02)} if measured else {}
    return replace(
        one, prediction=prediction, elapsed=prediction.time, kernel=prediction.kernel, user=number(0.5 * kernel),
        measured=real, ratios=ratios,
    )  # fmt: skip


def test_the_throughput_of_requests_is_the_reciprocal_of_their_time() -> None:
    """Elapsed times of 8 and 4 microseconds, each within 10 %."""
    whole = [
        replace(system(name), elapsed=number(time)) for name, time in (("slow", 8000.0), ("fast", 4000.0))
    ]
    real = Measured("fast", number(5000.0, 0.5), number(1.0), number(1.0), "ns")
    (one,) = forecast(whole[0], replace(whole[1], measured=real)).applications
    table = throughput_table(one)
    assert table.columns == ("system", "predicted", "CI", "measured", "measured CI", "error")
    assert table.rows == [
        ("slow", "125,000", "[113,636, 138,889]", "", "", ""),
        ("fast", "250,000", "[227,273, 277,778]", "200,000", "[133,333, 400,000]", "+25.0 %"),
    ]


def test_there_is_no_throughput_without_an_elapsed_time_of_requests() -> None:
    assert not throughput_table(forecast(system("one"), user=None).applications[0]).rows
    (one,) = forecast(system("one")).applications
    assert not throughput_table(replace(one, application=replace(one.application, per="iteration"))).rows
    unknown = replace(system("one"), elapsed=Value(math.nan, reason="no cost"))
    assert [row[1] for row in throughput_table(forecast(unknown).applications[0]).rows] == [ABSENT]


def test_without_a_user_time_kernel_time_stands_beside_kernel_time() -> None:
    told = forecast(
        without_user_time("a", 6000.0, 5000.0), without_user_time("b", 8000.0, 10_000.0), user=None
    )
    (table,) = topic(told, "ranking").tables
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [float(row["predicted primitives"]) for row in rows] == [9.0, 12.0]
    for row, kernel, measured in zip(rows, (6.0, 8.0), (5.0, 10.0), strict=True):
        assert float(row["predicted kernel"]) == kernel
        assert float(row["measured kernel"]) == measured
        assert float(row["predicted / measured kernel"]) == pytest.approx(kernel / measured, abs=0.01)
    (figure,) = topic(told, "ranking").groups[0].figures
    assert [trace["x"] for trace in figure.traces] == [[6.0], [5.0], [8.0], [10.0]]
    assert "kernel time per request" in str(figure.layout)


def test_each_quantity_has_its_own_figure_of_predicted_against_measured() -> None:
    elapsed = forecast(system("a", measured=7000.0))
    kernel = forecast(without_user_time("a", 6000.0, 5000.0), name="other", user=None)
    both = replace(elapsed, applications=(*elapsed.applications, *kernel.applications))
    first, second = topic(both, "accuracy").groups
    assert first.title.endswith("elapsed time")
    assert second.title.endswith("kernel time")
    points = [[trace["x"] for trace in group.figures[0].traces[1:]] for group in (first, second)]
    assert points == [[[7.0]], [[5.0]]]
    assert "predicted kernel time" in str(second.figures[0].layout)


def test_a_calibration_is_drawn_of_enough_pairs_and_times() -> None:
    def groups(count: int) -> dict[str, Group]:
        found = forecast(*(system(f"s{n}", measured=7000.0) for n in range(count)))
        return {group.title: group for group in topic(found, "accuracy").groups}

    assert "Calibration" not in groups(9)
    # Of 11 systems there are 10 pairs: predicted 2.0 and measured 1.9, within 10 and 1 %. Times are 7 % off, within 2 %.
    whole = groups(11)["Calibration"]
    assert [entry.name for entry in whole.legend] == ["ratios of systems", "times"]
    (figure,) = whole.figures
    points = [(trace["x"][0], trace["y"][0]) for trace in figure.traces if trace["mode"] == "markers"]
    levels = [50, 60, 70, 80, 90, 95, 99]
    # log (2.0 / 1.9) is 0.485 of the distance to the lower end at 95 %: more than at 60 %, less than at 70 %.
    assert points[:7] == [(level, 0 if level < 70 else 100) for level in levels]
    assert points[7:] == [(level, 0) for level in levels]


def test_a_measured_time_of_nothing_is_shown_and_divides_nothing(tmp_path: Path) -> None:
    nothing = forecast(without_user_time("a", 6000.0, 0.0), user=None)
    (table,) = topic(nothing, "ranking").tables
    assert "predicted / measured kernel" not in table.columns
    assert "accuracy" not in [one.anchor for one in sections_of_forecast(nothing)]
    write_predictions(nothing, tmp_path / "page.html")
    one = SpeedUp("a", "m", "n", (("cgi", "fcgi"),), *(number(7.0) for _ in range(4)), Value.exact(0.0))
    write_predictions(forecast(system("a"), speed_ups=(one,)), tmp_path / "page.html")


def test_a_pair_says_of_which_quantity_its_ratios_are() -> None:
    told = forecast(system("a", measured=7000.0), system("b", 2.0, measured=12000.0))
    (one,) = told.applications
    (pair,) = one.pairs
    assert pairs_table([one]).rows[0][3:5] == ("elapsed", "2.000")
    other = replace(one, pairs=(replace(pair, compared=number(1.5), quantity="kernel"),))
    assert pairs_table([other]).rows[0][3:5] == ("kernel", "1.500")


def test_speed_ups_show_all_ways_that_are_known() -> None:
    one = SpeedUp(
        "a", "m", "n", (("cgi", "fcgi"),), number(7.0), number(5.0), number(5.5), number(500.0), number(5.2)
    )
    known = topic(forecast(system("a"), speed_ups=(one,)), "speed-up")
    assert [entry.name for entry in known.groups[0].legend] == [
        "kernel time (r)", "constant user time (r')", "measured user times", "measured",
    ]  # fmt: skip
    unknown = replace(one, measured=Value(math.nan), with_user=Value(math.nan), own_user=Value(math.nan))
    legend = topic(forecast(system("a"), speed_ups=(unknown,)), "speed-up").groups[0].legend
    assert [entry.name for entry in legend] == ["kernel time (r)"]


def test_the_line_of_no_speed_up_is_within_the_figure_however_large_they_are() -> None:
    one = SpeedUp("a", "m", "n", (("cgi", "fcgi"),), *(number(7.0) for _ in range(5)))
    (figure,) = topic(forecast(system("a"), speed_ups=(one,)), "speed-up").groups[0].figures
    line, *points = figure.traces
    low, high = figure.layout["xaxis"]["range"]
    assert low < line["x"][0] == line["x"][1] == 1 < high
    assert [trace["x"] for trace in points] == [[7.0]] * 4
    heights = [trace["y"][0] for trace in points]
    assert heights == sorted(set(heights), reverse=True)


def test_names_of_others_are_text_and_nothing_else(tmp_path: Path) -> None:
    found = forecast(
        system(HOSTILE, measured=7000.0), name=HOSTILE, sentences=(HOSTILE,), groups=((HOSTILE, "b"),)
    )
    write_predictions(found, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "</script><b>" not in page
    assert "\u202e" not in page.split('type="application/json"')[1].split("</script>")[0]


def test_a_system_of_which_nothing_can_be_predicted_leaves_the_page_whole(tmp_path: Path) -> None:
    nothing = Value(math.nan, reason="no cost for fcntl")
    one = system("a")
    lacking = replace(
        one,
        system="lacking",
        elapsed=nothing,
        prediction=replace(one.prediction, time=nothing, kernel=nothing, missing=("fcntl",)),
    )
    write_predictions(forecast(one, lacking), tmp_path / "page.html")
    assert "lacking" in (tmp_path / "page.html").read_text()
    write_predictions(forecast(lacking), tmp_path / "page.html")
