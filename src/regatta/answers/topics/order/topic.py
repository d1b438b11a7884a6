"""The topic of order: each value over time, to reveal a drift of the machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import (
    TEXTS_AT_MOST,
    Panel,
    cell_hover,
    hollow_words,
    invocation_marks,
    place_of,
)
from regatta.answers.kit.topic import Topic
from regatta.answers.kit.view import View
from regatta.answers.spine.parts import Sample
from regatta.answers.spine.result import CellAnswer
from regatta.figures.axes import Figure, Group, Trace, axis, layout
from regatta.figures.curves import segment
from regatta.figures.looks import Look
from regatta.figures.section import Section
from regatta.figures.text import show_ratio, tidy

_HEIGHT_PX = 300
#: unit of the time axis -> its length in ns, and the least span of a page in ns that it fits
_UNITS = {"hours": (3600e9, 5 * 3600e9), "minutes": (60e9, 120e9), "seconds": (1e9, 0.0)}
#: Number of time windows of the running median, each of at least `_STRETCH_LEAST` values.
_STRETCHES = 12
_STRETCH_LEAST = 5


def order_section(_: None, view: View) -> Section | None:
    """Return every invocation at its time."""
    groups = _groups(view.panels, view.looks)
    if not groups:
        return None
    return Section(
        "order",
        words="Each invocation over time, relative to the mean of its cell. The line is the running median. A line that leaves 1 "
        f"indicates drift of the machine.{hollow_words(view.panels)}",
        groups=groups,
    )


def _groups(panels: Sequence[Panel], looks: Looks) -> list[Group]:
    """Return one group, one figure per host and benchmark; the time counts from the host's first invocation.

    Of several metrics, the compared one, which is first, is shown: drift is a property of the machine.
    """
    times: dict[str, list[int]] = {}
    for panel in panels:
        for cell in panel.cells:
            times.setdefault(panel.host, []).extend(
                sample.started_utc_ns for sample in (*cell.samples, *cell.perturbed)
            )
    starts = {host: min(of_host) for host, of_host in times.items() if of_host}
    longest = max((max(times[host]) - start for host, start in starts.items()), default=0)
    unit = next(name for name, (_, least) in _UNITS.items() if longest >= least)
    first = {(panel.host, panel.benchmark): panel for panel in reversed(panels)}
    compared = [panel for panel in panels if first[panel.host, panel.benchmark] is panel]
    figures = [
        figure for panel in compared if (figure := _figure(panel, looks, starts.get(panel.host, 0), unit))
    ]
    legend = looks.legend([cell for panel in compared for cell in panel.cells])
    return [Group("", figures, legend)] if figures else []


def _figure(panel: Panel, looks: Looks, start: int, unit: str) -> Figure | None:
    marks: dict[tuple[Look, bool], list[tuple[float, float, str]]] = {}
    quiet: list[tuple[float, float]] = []
    told = sum(len(cell.samples) for cell in panel.cells) <= TEXTS_AT_MOST
    for cell, runs in _by_cell(panel).values():
        for sample, relative in runs:
            time = (sample.started_utc_ns - start) / _UNITS[unit][0]
            text = (
                cell_hover(cell, f"{show_ratio(relative)} of the cell's mean", place_of(sample))
                if told
                else ""
            )
            marks.setdefault((looks.of(cell), sample.perturbed), []).append((time, relative, text))
            if not sample.perturbed:
                quiet.append((time, relative))
    if len(quiet) < 2:
        return None
    traces = [_scatter(points, look, hollow, told) for (look, hollow), points in marks.items()]
    traces.append(_running_median(sorted(quiet)))
    x = axis(f"{unit} since the first invocation")
    return Figure(panel.title, _HEIGHT_PX, traces, layout(x, axis("value / mean of the cell")))


def _by_cell(panel: Panel) -> dict[str, tuple[CellAnswer, list[tuple[Sample, float]]]]:
    """Return each cell's invocations with their value relative to the mean; a curve's values are averaged per invocation."""
    relatives: dict[str, tuple[CellAnswer, dict[str, tuple[Sample, list[float]]]]] = {}
    for cell in panel.cells:
        values = [s.value for s in cell.samples if math.isfinite(s.value)]
        mean = fmean(values) if values else math.nan
        if not mean > 0:
            continue
        _, runs = relatives.setdefault(cell.cell_id, (cell, {}))
        disturbed = {s.invocation_id for s in cell.perturbed}
        for sample in (*cell.samples, *cell.perturbed):
            if math.isfinite(sample.value):
                key = f"{sample.invocation_id} {sample.started_utc_ns} {sample.invocation_id in disturbed}"
                runs.setdefault(key, (sample, []))[1].append(sample.value / mean)
    return {
        cell_id: (cell, [(sample, fmean(ratios)) for sample, ratios in runs.values()])
        for cell_id, (cell, runs) in relatives.items()
    }


def _scatter(points: Sequence[tuple[float, float, str]], look: Look, hollow: bool, told: bool) -> Trace:
    times, relatives, texts = zip(*points, strict=True)
    return invocation_marks(map(tidy, times), map(tidy, relatives), look, hollow, 0.65, texts if told else ())


def _running_median(points: Sequence[tuple[float, float]]) -> Trace:
    size = max(_STRETCH_LEAST, math.ceil(len(points) / _STRETCHES))
    stretches = [points[i : i + size] for i in range(0, len(points), size)]
    if len(stretches) > 1 and len(stretches[-1]) < _STRETCH_LEAST:
        stretches[-2:] = [[*stretches[-2], *stretches[-1]]]
    times, relatives = ([median(point[at] for point in one) for one in stretches] for at in (0, 1))
    return segment(times, relatives, width=2)


ORDER: Topic[None] = Topic("order", title="Order of execution", empty=None, section=order_section)
