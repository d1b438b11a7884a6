"""The topic of startup and steady state."""

from __future__ import annotations

import math
from dataclasses import replace

from helpers.synthetic_answers import java_answer
from regatta.answers.kit.panels import panels_of
from regatta.answers.kit.view import View
from regatta.answers.report.page import render
from regatta.answers.spine.result import Answer
from regatta.answers.topics.steady.compute import IterationCurve, SeriesSteadiness, Steadiness
from regatta.answers.topics.steady.topic import STEADY
from regatta.figures.section import Section
from regatta.stats.estimate import Interval

_TITLE = "Steady state"


def _curve(kind: str, n: int) -> IterationCurve:
    middle = tuple(1.0 + 2.0 * math.exp(-i / 5) for i in range(n))
    low, high = tuple(y * 0.98 for y in middle), tuple(y * 1.02 for y in middle)
    return IterationCurve(kind, 10, tuple(range(n)), middle, low, high)


def _answer(n: int = 60, **changes: object) -> Answer:
    answer = java_answer(runtimes=("temurin-21",))
    estimate = Interval(10, 1.31, 1.29, 1.33, 0.95, "log-t")
    series = tuple(
        SeriesSteadiness(
            cell.cell_id, "h2", cell.place,
            cell.metric, cell.parameters, 10, n, 9, 3.0, "inconsistent", {"flat": 4, "warmup": 6}, 12.5, 20.0,
            estimate, "disagree", 6, estimate, _curve("", n),
        )
        for cell in answer.cells
    )  # fmt: skip
    found = Steadiness(10, 0.02, 3, series, (_curve("flat", n), _curve("no steady state", n)))
    return replace(
        answer, findings={"steady": ("A sentence.",)}, topics={"steady": replace(found, **changes)}  # type: ignore[arg-type]
    )  # fmt: skip


def _topic(answer: Answer) -> Section | None:
    return STEADY.section_of(View(answer))


def test_every_series_has_a_row_and_every_panel_its_curves() -> None:
    answer = _answer()
    topic = _topic(answer)
    assert topic is not None
    (table,) = topic.tables
    assert len(table.rows) == len(answer.cells)
    assert table.rows[0][1:] == (
        "10 × 60", "inconsistent (4 flat, 6 warmup)", "12.5", "9 of 10", "3", "1.310 [1.290, 1.330]", "disagree",
    )  # fmt: skip
    by_kind, *by_cell = topic.groups
    assert [entry.name for entry in by_kind.legend] == ["flat: 10", "no steady state: 10"]
    assert len(by_cell) == len(panels_of(answer))


def test_long_series_have_a_logarithmic_axis() -> None:
    topic = _topic(_answer(400))
    assert topic is not None
    assert topic.groups[0].figures[0].layout["xaxis"]["type"] == "log"


def test_series_that_are_too_short_leave_the_sentence() -> None:
    topic = _topic(_answer(series=(), curves=()))
    assert topic is not None
    assert (topic.sentences, topic.tables, topic.groups) == (("A sentence.",), [], [])


def test_no_iterations_have_no_topic() -> None:
    assert _topic(replace(_answer(), topics={})) is None


def test_the_page_shows_it() -> None:
    assert 'id="steady"' in render(_answer())
