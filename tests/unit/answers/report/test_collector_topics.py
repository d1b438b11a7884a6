"""The topics of collectors and of latency, and the axis of percentiles that they share."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from helpers.synthetic_answers import curve_answer, empty_answer, failed_answer, java_answer
from helpers.synthetic_collectors import COLLECTORS as NAMES
from helpers.synthetic_collectors import SWEEP, collector_answer
from regatta.answers.kit.panels import PERCENTILE, panels_of
from regatta.answers.kit.view import View
from regatta.answers.report.page import render
from regatta.answers.report.registry import sections_of
from regatta.answers.spine.result import Answer
from regatta.answers.topics.collectors.compute import Overheads
from regatta.answers.topics.collectors.topic import COLLECTORS
from regatta.answers.topics.latency.topic import LATENCY
from regatta.figures.section import Section


def topics(answer: Answer) -> tuple[Section | None, Section | None]:
    return COLLECTORS.section_of(View(answer)), LATENCY.section_of(View(answer))


@pytest.fixture(scope="module")
def sweep() -> Answer:
    return collector_answer()


def test_overheads_of_a_sweep_are_one_line_a_collector_with_a_band_and_a_gap_where_nothing_is(
    sweep: Answer,
) -> None:
    collectors, _ = topics(sweep)
    assert collectors is not None
    time, processors = collectors.groups[0].figures
    assert (time.title, processors.title) == ("time", "CPU time")
    lines = [t for t in time.traces if t.get("mode") == "lines+markers"]
    bands = [t for t in time.traces if t.get("fill") == "toself"]
    assert (len(lines), len(bands)) == (len(NAMES), len(NAMES))
    assert [len(line["x"]) for line in lines] == [21, 21, 21, 20, 20]
    assert lines[0]["x"] == list(SWEEP)
    assert "tickvals" not in time.layout["xaxis"], "21 named settings would lie over one another"
    assert [entry.name for entry in collectors.groups[0].legend] == list(NAMES)


def test_each_cell_has_a_row_with_both_overheads_and_its_reason(sweep: Answer) -> None:
    collectors, _ = topics(sweep)
    assert collectors is not None
    (table,) = collectors.tables
    assert len(table.rows) == 105
    assert all(len(row) == len(table.columns) for row in table.rows)
    heaps = [float(row[2].split("x")[0]) for row in table.rows]
    assert heaps == sorted(heaps)
    undefined = [row for row in table.rows if row[5] == "–"]
    assert {(row[3], row[6]) for row in undefined} == {("z", "no values"), ("shenandoah", "no values")}


def test_pauses_are_shown_over_the_heap_and_with_one_heap_by_percentile(sweep: Answer) -> None:
    collectors, _ = topics(sweep)
    one, _ = topics(collector_answer(heaps=(2.0,)))
    assert collectors is not None
    assert one is not None
    assert [f.title for f in collectors.groups[1].figures] == [
        "median pause",
        "longest pause per iteration",
    ]
    (figure,) = one.groups[1].figures
    assert figure.layout["xaxis"]["ticktext"] == ["50 %", "90 %", "99 %", "max"]
    places = figure.layout["xaxis"]["tickvals"]
    assert places[2] - places[1] == pytest.approx(1.0)
    assert places == sorted(places)


def test_latency_is_shown_simple_and_for_each_window_on_one_axis(sweep: Answer) -> None:
    _, latency = topics(sweep)
    assert latency is not None
    (group,) = latency.groups
    curves = [figure for figure in group.figures if ", heap 2x" in figure.title]
    assert [figure.title.split(", heap")[0] for figure in curves] == [
        "simple",
        "metered, 10 ms",
        "metered, 100 ms",
        "metered, full",
    ]
    assert len({json.dumps(figure.layout["yaxis"]) for figure in curves}) == 1
    over = [figure for figure in group.figures if figure.title.startswith("99 %")]
    assert len(over) == 4


def test_an_interval_that_reaches_below_0_keeps_a_logarithmic_axis(sweep: Answer) -> None:
    cells = tuple(
        replace(c, estimate=replace(c.estimate, low=-c.estimate.point)) if c.metric == "latency" else c
        for c in sweep.cells
    )
    _, latency = topics(replace(sweep, cells=cells))
    assert latency is not None
    for figure in latency.groups[0].figures[:4]:
        assert figure.layout["yaxis"]["type"] == "log"
        assert all(y > 0 for trace in figure.traces for y in trace["y"])


def test_percentiles_are_in_no_violin_forest_or_curve_of_a_parameter(sweep: Answer) -> None:
    panels = panels_of(sweep)
    by_percentile = [panel.metric for panel in panels if panel.series_parameter == PERCENTILE]
    assert by_percentile == ["gc_pause", "latency"]
    shown = {topic.anchor: topic for topic in sections_of(View(sweep))}
    assert "series" not in shown
    for anchor in ("spread", "heap", "order"):
        titles = [group.title for group in shown[anchor].groups]
        assert not [title for title in titles if "gc_pause" in title or "latency" in title]


def test_two_percentiles_are_a_distribution_too(sweep: Answer) -> None:
    cells = tuple(c for c in sweep.cells if c.parameters.get("percentile") in (None, 50, 100))
    assert {p.series_parameter for p in panels_of(replace(sweep, cells=cells))} == {"", PERCENTILE}


@pytest.mark.parametrize("answer", [java_answer(), curve_answer(), failed_answer(), empty_answer()])
def test_answers_without_pauses_and_requests_have_neither_topic(answer: Answer) -> None:
    assert topics(answer) == (None, None)


def test_overheads_that_are_all_undefined_are_a_table_without_a_figure(sweep: Answer) -> None:
    nothing = [o for o in COLLECTORS.of(sweep).overheads if o.ratio.reason]
    cells = tuple(c for c in sweep.cells if c.metric == "elapsed")
    collectors, latency = topics(
        replace(sweep, cells=cells, topics={"collectors": Overheads((), tuple(nothing))})
    )
    assert latency is None
    assert collectors is not None
    assert collectors.groups == []
    assert len(collectors.tables[0].rows) == 2


def test_the_page_holds_both_topics(sweep: Answer) -> None:
    page = render(sweep)
    assert 'id="collectors"' in page
    assert 'id="latency"' in page


def test_allocation_stalls_have_figures_beside_the_pauses_and_are_no_latency(sweep: Answer) -> None:
    stalls = tuple(
        replace(c, metric="gc_stall")
        for c in sweep.cells
        if (c.metric, c.place.collector) == ("gc_pause", "z")
    )
    collectors, latency = topics(replace(sweep, cells=(*sweep.cells, *stalls)))
    assert collectors is not None
    assert latency is not None
    titles = [figure.title for group in collectors.groups for figure in group.figures]
    assert any("allocation stall" in title for title in titles)
    assert not [group.title for group in latency.groups if "gc_stall" in group.title]
