"""Run sequence and lag plots: every cell in its row, neighbours against each other, the autocorrelation told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.synthetic_answers import curve_answer, failed_answer, java_answer
from regatta.answers.kit.view import View
from regatta.answers.spine.result import Answer
from regatta.answers.topics.dependence.topic import DEPENDENCE, dependences
from regatta.figures.section import Section


def runs(answer: Answer) -> Section:
    topic = DEPENDENCE.section_of(View(answer))
    assert topic is not None
    return topic


SMALL = java_answer(benchmarks=("x", "y"), runtimes=("r",), heaps=(1.5, 4))


def test_each_benchmark_and_heap_has_a_sequence_and_a_lag_plot() -> None:
    groups = runs(SMALL).groups
    assert [group.title for group in groups] == ["x", "y"]
    assert [figure.title for figure in groups[0].figures] == [
        "heap 1.5x (36 MiB) · sequence", "heap 1.5x (36 MiB) · lag", "heap 4x (96 MiB) · sequence", "heap 4x (96 MiB) · lag",
    ]  # fmt: skip


def test_a_sequence_has_a_row_a_cell_with_its_scale_and_autocorrelation() -> None:
    sequence = runs(SMALL).groups[0].figures[0]
    texts = [note["text"] for note in sequence.layout["annotations"]]
    assert texts[0::2] == ["r serial", "r parallel", "r g1"]
    assert all("%, lag-1 " in text for text in texts[1::2])
    lines = [trace for trace in sequence.traces if "markers" in trace["mode"]]
    assert [trace["x"] for trace in lines] == [list(range(1, 11))] * 3
    for row, trace in enumerate(lines):
        assert max(abs(y + row) for y in trace["y"]) == pytest.approx(0.25, abs=1e-6)


def test_the_lag_plot_pairs_each_value_with_the_next_over_the_mean() -> None:
    lag = runs(SMALL).groups[0].figures[1]
    cell = SMALL.cells[0]
    mean = sum(s.value for s in cell.samples) / len(cell.samples)
    trace = lag.traces[0]
    assert len(trace["x"]) == len(trace["y"]) == 9
    assert trace["x"][1:] == trace["y"][:-1]
    assert trace["x"][0] == pytest.approx(cell.samples[0].value / mean, rel=1e-6)


def test_every_cell_stands_in_the_table_with_its_limits() -> None:
    topic = runs(SMALL)
    (table,) = topic.tables
    assert len(table.rows) == len(SMALL.cells)
    assert "Lag-1" in table.title
    few = replace(SMALL, topics={"dependence": dependences(java_answer(n=3).cells, 0.95)})
    assert any("3 values" in text for text in runs(few).tables[0].rows[0])


def test_only_the_metric_that_is_compared_is_drawn() -> None:
    more = replace(
        SMALL, cells=SMALL.cells + tuple(replace(c, metric="max_rss", unit="bytes") for c in SMALL.cells)
    )
    assert len(runs(more).groups) == 2


def test_cells_with_few_values_are_in_the_table_only() -> None:
    cells = java_answer(n=4).cells
    topic = runs(replace(SMALL, cells=cells, topics={"dependence": dependences(cells, 0.95)}))
    assert not topic.groups
    assert len(topic.tables[0].rows) == len(cells)


@pytest.mark.parametrize("answer", [failed_answer(), curve_answer(), replace(SMALL, topics={})])
def test_without_values_in_time_there_is_no_topic(answer: Answer) -> None:
    assert DEPENDENCE.section_of(View(answer)) is None


def test_equal_values_make_a_flat_row() -> None:
    cell = SMALL.cells[0]
    flat = replace(cell, samples=tuple(replace(s, value=5.0) for s in cell.samples))
    answer = replace(SMALL, cells=(flat,), topics={"dependence": dependences([flat], 0.95)})
    figure = runs(answer).groups[0].figures[0]
    assert set(figure.traces[1]["y"]) == {0.0}
    assert "– " not in figure.layout["annotations"][1]["text"]
