"""The topic of event traces: where the time of a transaction goes, and time charts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Lead, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.context import Context
from regatta.answers.spine.words import counted
from regatta.figures.axes import Group
from regatta.figures.section import Section
from regatta.figures.text import joined, show_percent
from regatta.host.errors import RegattaError
from regatta.host.foreign import foreign
from regatta.models.kernel_traces.topic.bars import legend_of, phase_figures
from regatta.models.kernel_traces.topic.compute import trace_costs
from regatta.models.kernel_traces.topic.result import TracedCell, Tracing
from regatta.models.kernel_traces.topic.tables import tracing_tables
from regatta.models.kernel_traces.topic.words import headline_words, tracing_words

#: Each takes seconds to read.
_CHARTS = 4


def events_section(found: Tracing, view: View) -> Section | None:
    """Return bars of the phases, and time charts; None without traced cells."""
    if not found.cells:
        return None
    figures = phase_figures(found)
    return Section(
        "events",
        words="Times of the threads that serve transactions, per finished transaction. Interrupts are those of the CPUs that these "
        "threads used; in tables of phases, only those that interrupted these threads. Means over "
        f"invocations with {show_percent(view.answer.level)} confidence intervals. The ratio of traced to untraced covers the "
        "whole measured time, of which the window can be a part.",
        groups=[
            *([Group("Time per phase", figures, legend_of(found))] if figures else []),
            *_charts(found),
        ],
    )


def _charts(found: Tracing) -> list[Group]:
    kept = [cell for cell in found.cells if cell.recording is not None]
    if found.charts is None:
        return []
    from regatta.models.kernel_traces.topic.chart import WORDS

    charts = [_chart(cell, found.charts, "" if at else WORDS) for at, cell in enumerate(kept[:_CHARTS])]
    if len(kept) > _CHARTS:
        how = "draw one by `regatta trace events --from FOLDER --chart FILE`"
        more = counted(len(kept) - _CHARTS, "more cell")
        charts[-1] = replace(charts[-1], note=joined(charts[-1].note, f"{more} without a chart: {how}"))
    return charts


def _chart(cell: TracedCell, charts: Path, words: str) -> Group:
    from regatta.models.kernel_traces.topic.chart import LEGEND, draw, left_out_words
    from regatta.models.kernel_traces.topic.window import median_window

    title = f"Time chart of the median transaction: {cell.name}"
    assert cell.recording is not None
    try:
        with foreign(cell.recording, "a recording of events"):
            window, note = median_window(cell.recording, charts)
    except (RegattaError, OSError) as error:
        return Group(title, [], note=f"No time chart: {_reason(error)}")
    return Group(title, [draw(window)], LEGEND, joined(words, note, left_out_words(window)))


def _reason(error: RegattaError | OSError) -> str:
    if isinstance(error, RegattaError):
        problem = error.problems[0]
        return f"{problem.where}: expected {problem.expected}, got {problem.got}"
    return error.strerror or str(error)


def _document(found: Tracing) -> Any:
    """Return the document without paths."""
    cells = []
    document = plain(found)
    for one, cell in zip(found.cells, document["cells"], strict=True):
        del cell["recording"]
        stations = (
            {}
            if one.demands is None
            else dict(zip(one.demands.names, one.demands.demands_ns.tolist(), strict=True))
        )
        cells.append({**cell, "demands": stations})
    return {"cells": cells, "predictions": document["predictions"]}


def _lead(found: Tracing, _: Context) -> Lead:
    return Lead(headline_words(found))


EVENTS: Topic[Tracing] = Topic(
    "events",
    title="Event traces",
    empty=Tracing(),
    compute=trace_costs,
    words=Words(105, "Event traces", lambda found, _: tracing_words(found)),
    document=Document(85, "events", _document),
    section=events_section,
    tables=tracing_tables,
    lead=_lead,
)
