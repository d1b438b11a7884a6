"""The topic of latency: latency of requests, simple and metered, by percentile and over the heap."""

from __future__ import annotations

from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import PERCENTILE, Panel, group_heap_label
from regatta.answers.kit.percentiles import (
    WAITS,
    percentile_figure,
    percentile_over_heap,
    usual_heap,
    variants,
)
from regatta.answers.kit.topic import Topic
from regatta.answers.kit.view import View
from regatta.figures.axes import Figure, Group
from regatta.figures.section import Section
from regatta.figures.text import show_percent

#: percentile shown over the heap
_PERCENT = 99.0


def latency_section(_: None, view: View) -> Section | None:
    """Return percentiles of all metrics that have them, except those of the topic of collectors; None without any."""
    groups = [
        Group(panel.title, figures, view.looks.legend(panel.cells))
        for panel in view.panels
        if panel.series_parameter == PERCENTILE
        and panel.metric not in WAITS
        and (figures := _figures(panel, view.looks))
    ]
    if not groups:
        return None
    return Section(
        "latency",
        words="Percentiles of the requests of an iteration, averaged over iterations and then over invocations, with "
        f"{show_percent(view.answer.level)} confidence intervals. Simple latency counts from the start of a request. Metered latency "
        "counts from the time at which the request would have started if requests arrived evenly within the window. A pause "
        "therefore delays all requests that arrive during it.",
        groups=groups,
    )


def _figures(panel: Panel, looks: Looks) -> list[Figure]:
    found = variants(panel)
    at_usual = {name: usual_heap(cells) for name, cells in found.items()}
    beside = [cell for cells in at_usual.values() for cell in cells]
    figures = []
    for name, cells in at_usual.items():
        heap = group_heap_label(cells) if cells else ""
        title = f"{name}, heap {heap}" if heap else name
        figures.append(percentile_figure(title, cells, panel, looks, beside))
    for name, cells in found.items():
        title = f"{_PERCENT:g} % {name}".strip()
        figures.append(percentile_over_heap(title, cells, _PERCENT, panel, looks))
    return [figure for figure in figures if figure is not None]


LATENCY: Topic[None] = Topic("latency", title="Request latency", empty=None, section=latency_section)
