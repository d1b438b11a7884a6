"""Speeds relative to the traced system: which rows there are, and the same numbers in the table and the figure."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.golden import Golden
from helpers.runtime_forecasts import EXACT, TIMES, application, number, pair, six_runtimes, system
from regatta.figures.axes import Figure
from regatta.figures.section import Section
from regatta.models.cli.prediction_tables import show_forecast
from regatta.models.predict.figures import speed_group
from regatta.models.predict.forecast import NOTHING, Forecast, PairForecast
from regatta.models.predict.page import sections_of_forecast
from regatta.models.predict.runtimes import ApplicationSpeeds, Speed, speeds_of, speeds_table
from regatta.models.vectors.values import Value

TRACED = next(iter(TIMES))


def forecast(*pairs: PairForecast, **more: Any) -> Forecast:
    """An application on 21, 17 and int, by default traced on 17."""
    systems = [system(name, {"hash": 100.0}, 1000.0) for name in ("21", "17", "int")]
    return Forecast((application(*systems, pairs=pairs, **more),), 0.95)


def speeds(*pairs: PairForecast, **more: Any) -> ApplicationSpeeds:
    (found,) = speeds_of(forecast(*pairs, **more))
    return found


def section(found: Forecast) -> Section | None:
    return next((one for one in sections_of_forecast(found) if one.anchor == "speeds"), None)


def points(figure: Figure, mark: str) -> list[dict[str, Any]]:
    return [trace for trace in figure.traces if trace.get("marker", {}).get("symbol") == mark]


def speed_figure(found: ApplicationSpeeds) -> Figure:
    (figure,) = speed_group(found).figures
    return figure


def line(figure: Figure) -> dict[str, Any]:
    (found,) = [trace for trace in figure.traces if trace["mode"] == "lines"]
    return found


def axis_ends(figure: Figure) -> list[float]:
    ends: list[float] = figure.layout["xaxis"]["range"]
    return [10.0**end for end in ends] if is_logarithmic(figure) else ends


def is_logarithmic(figure: Figure) -> bool:
    return "type" in figure.layout["xaxis"]


# Rows


def test_a_speed_is_the_time_on_the_traced_system_divided_by_that_on_the_other() -> None:
    found = speeds(
        pair("21", "17", number(1.25), number(1.2), 2.0),
        pair("17", "int", number(4.0), number(5.0), 8.0),
        pair("21", "int", number(5.0), number(6.0), 16.0),
    )
    assert found.reference == "17"
    fast, slow = found.speeds
    assert (fast.system, fast.predicted, fast.measured) == ("21", number(1.25), number(1.2))
    assert (slow.system, slow.predicted.value, slow.measured.value) == ("int", 0.25, 0.2)
    assert (slow.predicted.low, slow.predicted.high) == pytest.approx((1 / 4.4, 1 / 3.6))
    assert (slow.measured.low, slow.measured.high) == pytest.approx((1 / 5.5, 1 / 4.5))
    assert [one.score.value for one in found.speeds] == [2.0, 0.125]


def test_a_predicted_speed_is_of_the_measured_quantity() -> None:
    one = replace(pair("21", "17", number(1.25), number(1.2)), compared=number(3.0), quantity="kernel")
    assert speeds(one).speeds[0].predicted == number(3.0)


def test_without_a_traced_system_the_fastest_is_the_reference() -> None:
    found = speeds(
        pair("21", "17", number(1.25)),
        pair("17", "int", number(4.0)),
        pair("21", "int", number(5.0)),
        traced_on="",
    )
    assert found.reference == "21"
    assert [(one.system, one.predicted.value) for one in found.speeds] == [("17", 0.8), ("int", 0.2)]


def test_rows_are_sorted_by_measured_speed_or_by_predicted_speed_if_that_is_unknown() -> None:
    found = speeds(
        pair("a", "17", number(3.0), number(1.1)),
        pair("b", "17", number(2.0), number(1.9)),
        pair("c", "17", number(1.5)),
        pair("17", "d", number(2.0)),
        pair("e", "17", NOTHING),
    )
    assert [one.system for one in found.speeds] == ["b", "c", "a", "d", "e"]


@given(st.floats(1e-3, 1e3), st.floats(0.01, 1.0), st.floats(1.0, 100.0))
def test_a_speed_does_not_depend_on_which_of_the_two_systems_is_faster(
    value: float, below: float, above: float
) -> None:
    ratio = Value(value, value * below, value * above)
    turned = Value(1 / value, 1 / (value * above), 1 / (value * below))
    (one,) = speeds(pair("x", "17", ratio, ratio, value)).speeds
    (other,) = speeds(pair("17", "x", turned, turned, 1 / value)).speeds
    for a, b in zip((one.predicted, one.measured), (other.predicted, other.measured), strict=True):
        assert (a.low, a.value, a.high) == pytest.approx((b.low, b.value, b.high))
        assert b.low <= b.value * (1 + 1e-9)
        assert b.value <= b.high * (1 + 1e-9)
    assert one.score.value == pytest.approx(other.score.value)


def test_a_time_of_nothing_has_no_speed_and_an_unbounded_interval_only_one_end() -> None:
    (speed,) = speeds(pair("17", "x", Value(4.0, 2.0, math.nan), EXACT(0.0))).speeds
    assert math.isnan(speed.measured.value)
    assert speed.measured.reason
    assert (speed.predicted.value, speed.predicted.high) == (0.25, 0.5)
    assert math.isnan(speed.predicted.low)
    assert "error_x" not in points(speed_figure(speeds(pair("17", "x", speed.predicted))), "diamond")[0]


# Table


def test_a_table_names_the_reference_once_if_all_applications_have_the_same() -> None:
    one, other = speeds(pair("21", "17", number(1.25))), speeds(pair("17", "int", number(4.0), number(5.0)))
    table = speeds_table([one, other])
    assert table.title.endswith(" 17")
    assert table.columns == (
        "application",
        "system",
        "predicted speed",
        "CI",
        "measured speed",
        "measured CI",
    )
    assert table.rows == [
        ("app", "21", "1.250", "[1.125, 1.375]", "", ""),
        ("app", "int", "0.250", "[0.227, 0.278]", "0.200", "[0.182, 0.222]"),
    ]
    assert table.numeric == {2, 3, 4, 5}
    apart = speeds_table([one, replace(other, reference="11")])
    assert apart.columns[2] == "relative to"
    assert [row[2] for row in apart.rows] == ["17", "11"]
    assert "17" not in apart.title


def test_a_terminal_shows_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    show_forecast(forecast(pair("21", "17", number(1.234))))
    assert "relative to 17" in capsys.readouterr().out
    show_forecast(forecast(pair("int", "21", number(1.234))))
    assert "relative to 17" not in capsys.readouterr().out


# Figure


def test_a_figure_has_a_row_for_each_system_and_a_point_for_each_speed() -> None:
    (one,) = speeds_of(six_runtimes("jess"))
    figure = speed_figure(one)
    by_mark = {
        "diamond": [speed.predicted for speed in one.speeds],
        "circle": [speed.measured for speed in one.speeds],
        "square": [speed.score for speed in one.speeds],
    }
    for mark, numbers in by_mark.items():
        known = [each for each in numbers if math.isfinite(each.value)]
        drawn = points(figure, mark)
        assert [trace["x"] for trace in drawn] == [[pytest.approx(each.value)] for each in known]
        assert [trace.get("error_x", {}).get("array") for trace in drawn] == [
            [pytest.approx(each.high - each.value, rel=1e-5)] if each.low < each.high else None
            for each in known
        ]
    assert len(points(figure, "circle")) == len(one.speeds) - 1, "one system was not measured"
    assert not any("error_x" in trace for trace in points(figure, "square")), "a score has no interval"
    names = [label["text"] for label in figure.layout["annotations"][::2]]
    assert len(names) == len(TIMES) - 1
    assert TRACED not in names
    assert figure.layout["annotations"][1]["text"] == f"{one.speeds[0].predicted.value:.3f}"


@pytest.mark.parametrize("score", [True, False])
def test_points_are_below_the_label_of_their_row_and_above_the_next_one(score: bool) -> None:
    (one,) = speeds_of(six_runtimes("jess", score=score))
    figure = speed_figure(one)
    low, high = figure.layout["yaxis"]["range"]
    labels = [label["y"] for label in figure.layout["annotations"][::2]]
    assert all(upper > lower for upper, lower in pairwise((high, *labels, low)))
    for speed, label, below in zip(one.speeds, labels, (*labels[1:], low), strict=True):
        own = [
            trace["y"][0]
            for trace in figure.traces[1:]
            if trace["hovertext"][0].split(":")[0] == speed.system
        ]
        assert own
        assert all(below < y < label for y in own)
    assert sorted(line(figure)["y"]) == [low, high]
    assert line(figure)["x"] == [1, 1]


def test_a_hover_text_has_system_kind_value_and_interval(golden: Golden) -> None:
    figure = speed_figure(speeds(pair("17", "<int>", number(4.0), number(5.0))))
    golden("hover", "\n".join(trace["hovertext"][0] for trace in figure.traces[1:]))
    assert figure.layout["annotations"][0]["text"] == "&lt;int&gt;"


def test_a_legend_has_only_what_is_drawn() -> None:
    bare, measured = pair("21", "17", number(1.25)), pair("17", "int", number(4.0), number(5.0))
    scored = pair("17", "int", number(4.0), score=3.0)
    cases = {
        (bare,): ["predicted"],
        (bare, measured): ["predicted", "measured"],
        (bare, scored): ["predicted", "by score"],
        (pair("21", "17", number(1.25), number(1.2), 2.0),): ["predicted", "measured", "by score"],
    }
    heights = []
    for pairs, names in cases.items():
        one = speeds(*pairs)
        legend = speed_group(one).legend
        assert [entry.name for entry in legend] == names
        assert {entry.look.mark for entry in legend} == {
            trace["marker"]["symbol"] for trace in speed_figure(one).traces[1:]
        }
        heights.append(speed_figure(replace(one, speeds=one.speeds[:1])).height)
    assert heights[0] < heights[-1], "a row has room only for what is drawn"


@given(st.lists(st.floats(0.02, 50.0), min_size=1, max_size=5))
def test_the_axis_contains_every_point_and_1_and_is_logarithmic_if_they_are_far_apart(
    values: list[float],
) -> None:
    rows = tuple(Speed(f"s{n}", number(value), NOTHING, NOTHING) for n, value in enumerate(values))
    figure = speed_figure(ApplicationSpeeds("app", "17", rows))
    low, high = axis_ends(figure)
    smallest, largest = min(1.0, *(0.9 * v for v in values)), max(1.0, *(1.1 * v for v in values))
    assert low < smallest <= largest < high
    assert is_logarithmic(figure) == (largest / smallest > 4.0)


# Page


def test_the_page_has_a_figure_for_each_application_below_the_table() -> None:
    found = section(six_runtimes("jess", "db"))
    assert found is not None
    assert [group.title for group in found.groups] == [
        f"{name}: speed relative to {TRACED}" for name in ("jess", "db")
    ]
    (table,) = found.tables
    figures = [group.figures for group in found.groups]
    assert [len(one) for one in figures] == [1, 1]
    in_figures = [
        trace["hovertext"][0].split(":")[0] for (figure,) in figures for trace in points(figure, "diamond")
    ]
    assert in_figures == [row[1] for row in table.rows]
    assert [entry.name for entry in found.groups[0].legend] == ["predicted", "measured", "by score"]


def test_there_are_no_speeds_without_runtimes_or_without_pairs_with_the_traced_system() -> None:
    one = forecast(pair("21", "17", number(1.25)))
    assert section(one) is not None
    (app,) = one.applications
    bare = replace(app, systems=tuple(replace(each, provenance={}) for each in app.systems))
    for nothing in (
        Forecast((bare,), 0.95),
        forecast(),
        forecast(pair("21", "int", number(5.0))),
        Forecast((), 0.95),
    ):
        assert speeds_of(nothing) == []
        assert section(nothing) is None
        assert list(speeds_table(speeds_of(nothing)).rows) == []
    mixed = replace(one, applications=(app, replace(app, pairs=())))
    assert len(speeds_of(mixed)) == 1
