"""A page of many values or many figures stays small enough for a browser, and says what it leaves out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from helpers.synthetic_answers import java_answer
from regatta.answers.report.page import render
from regatta.answers.spine.result import Answer
from regatta.figures.axes import Figure, Group, Trace
from regatta.figures.fitting import MOST_ROWS, fit
from regatta.figures.section import Section, Table

#: a browser opens a page of this size in a moment
LARGEST_PAGE_BYTES = 20_000_000
ROUNDS = 4000


def many_records() -> Answer:
    """More than 20 cells of 4,000 invocations."""
    answer, rng = java_answer(), np.random.default_rng(5)
    cells = []
    for cell in (cell for cell in answer.cells if cell.samples):
        first = cell.samples[0]
        values = rng.normal(cell.estimate.point, cell.estimate.point / 20, ROUNDS)
        samples = tuple(
            replace(first, round=r, value=float(v), started_utc_ns=first.started_utc_ns + r * 10**9)
            for r, v in enumerate(values)
        )
        cells.append(replace(cell, samples=samples))
    return replace(answer, cells=tuple(cells))


def many_benchmarks() -> Answer:
    return java_answer(
        benchmarks=[f"suite/benchmark-{number:03}:large" for number in range(300)],
        collectors=("serial", "parallel", "g1", "z", "shenandoah"),
        heaps=(2.0,),
        n=12,
    )


@pytest.mark.full
@pytest.mark.parametrize("answer_of", [many_records, many_benchmarks])
def test_the_report_of_a_large_experiment_opens(answer_of: Callable[[], Answer]) -> None:
    page = render(answer_of())
    assert len(page.encode()) < LARGEST_PAGE_BYTES


def cloud(count: int, kind: str = "scatter") -> Trace:
    x = [float(number) for number in np.random.default_rng(count).normal(0, 1, count)]
    return {
        "type": kind,
        "mode": "markers",
        "x": x,
        "y": list(range(count)),
        "hovertext": ["text" * 10] * count,
    }


def section_of(*figures: Figure) -> Section:
    return Section("made", "Made", "Words.", groups=[Group("all", list(figures))])


def figure(*traces: Trace) -> Figure:
    return Figure("", 100, list(traces), {})


def test_a_small_page_stays_as_it_is() -> None:
    sections = [section_of(figure(cloud(3000))), Section("empty")]
    assert fit(sections, rest="More.") == sections


@pytest.mark.parametrize("kind", ["scatter", "violin"])
def test_points_are_thinned_evenly_and_keep_their_extremes(kind: str) -> None:
    before = cloud(50_000, kind)
    (section,) = fit([section_of(figure(before))], 100_000)
    (after,) = section.groups[0].figures[0].traces
    assert {len(after[key]) for key in ("x", "y", "hovertext")} <= {1000, 1001, 1002, 1003, 1004}
    assert (min(after["x"]), max(after["x"])) == (min(before["x"]), max(before["x"]))
    assert abs(np.std(after["x"]) - 1) < 0.1
    pairs = dict(zip(before["x"], before["y"], strict=True))
    assert all(pairs[x] == y for x, y in zip(after["x"], after["y"], strict=True))
    assert section.words != "Words."


def test_ten_times_the_records_need_the_same_room() -> None:
    small, large = (
        fit([section_of(*(figure(cloud(count)) for _ in range(8)))], 800_000) for count in (5_000, 50_000)
    )
    sizes = [
        sum(len(json.dumps(one.traces)) for section in sections for one in section.groups[0].figures)
        for sections in (small, large)
    ]
    assert [len(sections[0].groups[0].figures) for sections in (small, large)] == [8, 8]
    assert sizes[1] < 1.1 * sizes[0]


def test_curves_and_intervals_keep_every_point() -> None:
    curve = {**cloud(50_000), "mode": "lines"}
    intervals = {**cloud(50_000), "error_x": {"array": [1.0] * 50_000}}
    (section,) = fit([section_of(figure(curve, intervals))], 1000)
    assert section.groups[0].figures[0].traces == [curve, intervals]


def test_small_sections_keep_all_figures_and_large_ones_the_first() -> None:
    small, large = section_of(figure(cloud(10))), section_of(*(figure(cloud(100)) for _ in range(100)))
    first, second = fit([small, large], 100_000, "More.")
    assert first == small
    kept = second.groups[0].figures
    assert 1 < len(kept) < 100
    assert kept == large.groups[0].figures[: len(kept)]
    assert second.words.endswith(f" {len(kept)} of 100 figures. More.")


def test_a_figure_that_alone_is_too_large_is_kept() -> None:
    (section,) = fit([section_of(figure({**cloud(5000), "mode": "lines"}), figure(cloud(10)))], 1000)
    assert len(section.groups[0].figures) == 1


def test_long_tables_are_cut() -> None:
    table = Table("Long", ("a",), [(str(number),) for number in range(MOST_ROWS + 1)])
    (section,) = fit([Section("made", tables=[table, replace(table, rows=table.rows[:5])])])
    assert [len(one.rows) for one in section.tables] == [MOST_ROWS, 5]
    assert f"{MOST_ROWS:,} of {MOST_ROWS + 1:,} rows" in section.words
