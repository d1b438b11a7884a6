"""The section of startup and steady state: iterations by class of invocation and by cell, and results per series."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import Panel, SeriesKey, series_key
from regatta.answers.kit.view import View
from regatta.answers.spine.result import CellAnswer
from regatta.answers.topics.steady.compute import IterationCurve, SeriesSteadiness, Steadiness
from regatta.figures.axes import Figure, Group, Trace, axis, layout, log_axis, value_axis
from regatta.figures.curves import Point, curve
from regatta.figures.looks import LegendEntry, Look
from regatta.figures.section import Section, Table
from regatta.figures.text import (
    Scale,
    finite,
    hover,
    joined,
    parameters_key,
    parameters_text,
    show_brief,
    show_heap,
    show_interval,
    show_percent,
    show_ratio,
)

_HEIGHT_PX = 340
_PLAIN = Scale(1.0, "", 3)
#: Beyond this number of iterations, only a logarithmic axis shows the first ones, which matter.
_LOG_FROM = 100
#: Beyond this number of points, marks hide the line.
_MARKS_AT_MOST = 40
#: With more series, lines of a figure are indistinguishable.
_LINES_AT_MOST = 8
#: class -> its look, equal in all reports
_KINDS = {
    "flat": Look("@c0", "circle", "solid"),
    "warmup": Look("@c1", "square", "solid"),
    "slowdown": Look("@c2", "diamond", "dash"),
    "no steady state": Look("@c3", "triangle-up", "dot"),
}
_COLUMNS = (
    "series",
    "invocations × iterations",
    "class",
    "steady after",
    "with CoV window",
    "window after",
    "window / end",
    "agreement",
)


def steady_section(found: Steadiness | None, view: View) -> Section | None:
    """Return a table of the series, curves by class and curves by cell; None without enough iterations."""
    if found is None or not (found.series or "steady" in view.answer.findings):
        return None
    words = (
        "Each curve is the median over invocations of iteration / steady-state mean of the same invocation; bands are the 10th to "
        "90th percentiles. Classes are from change points of mean and variance. A CoV window is "
        f"{found.window} consecutive iterations with a coefficient of variation below {show_percent(found.threshold)} (Georges et al. "
        "2007). “Window / end” is the mean of the first CoV window relative to the mean after the last change point."
    )
    return Section(
        "steady",
        words=words
        if found.series
        else "Whether invocations reach a steady state, and after how many iterations.",
        groups=[*_by_kind(found), *_by_cell(found, view.panels, view.looks)],
    )


def steady_tables(found: Steadiness | None, view: View) -> list[Table]:
    """Return the series with their classes and windows."""
    series = () if found is None else found.series
    rows = [_row(one, view) for one in series]
    return [Table("", _COLUMNS, rows, frozenset({1, 3, 4, 5, 6}))]


def _row(one: SeriesSteadiness, view: View) -> tuple[str, ...]:
    heap = show_heap(one.place.heap)
    ratio = one.cov_over_changepoints
    parts = (
        one.place.benchmark, one.place.configuration, heap, parameters_text(one.parameters), view.host(one.place.host),
    )  # fmt: skip
    kinds = ", ".join(f"{count} {kind}" for kind, count in one.kinds.items())
    return (
        joined(*parts),
        f"{one.invocations} × {one.iterations:,}",
        f"{one.kind} ({kinds})" if len(one.kinds) > 1 else one.kind,
        show_brief(one.steady_from),
        f"{one.cov_reached} of {one.invocations}",
        show_brief(one.cov_start),
        show_interval(ratio),
        one.agreement,
    )


def _by_kind(found: Steadiness) -> list[Group]:
    curves = [one for one in found.curves if one.iterations]
    if not curves:
        return []
    lines = [(one, _KINDS[one.kind], f"{one.kind}: {one.invocations}") for one in curves]
    legend = [LegendEntry(name, look) for _, look, name in lines]
    return [
        Group(
            "By class of invocation",
            [_figure("", lines)],
            legend,
            "All series pooled, with the number of invocations per class.",
        )
    ]


def _by_cell(found: Steadiness, panels: Sequence[Panel], looks: Looks) -> list[Group]:
    """Return one group per panel, one figure per heap; series over a parameter are only in the table."""
    curves = {
        (one.place.host, one.cell_id, one.metric, parameters_key(one.parameters)): one.curve
        for one in found.series
    }
    groups = []
    for panel in panels:
        figures = []
        for heap, cells in panel.by_heap():
            lines = [
                (shown, looks.of(cell), panel.name(cell))
                for cell in cells
                if (shown := curves.get(series_key(cell))) is not None and shown.iterations
            ]
            if 0 < len(lines) <= _LINES_AT_MOST:
                figures.append(_figure(f"heap {heap}" if heap else "", lines))
        if figures:
            groups.append(Group(panel.title, figures, looks.legend(_drawn(panel, curves))))
    return groups


def _drawn(panel: Panel, curves: dict[SeriesKey, IterationCurve]) -> list[CellAnswer]:
    return [cell for cell in panel.cells if series_key(cell) in curves]


def _figure(title: str, lines: Sequence[tuple[IterationCurve, Look, str]]) -> Figure:
    bands: list[Trace] = []
    tops: list[Trace] = []
    values: list[float] = []
    for one, look, name in lines:
        points = [
            Point(
                place + 1,
                y,
                low,
                high,
                hover(name, f"iteration {place + 1}", f"{show_ratio(y)} of the steady state"),
            )
            for place, y, low, high in zip(one.iterations, one.middle, one.low, one.high, strict=True)
        ]
        *under, top = curve(points, look, _PLAIN)
        if len(points) > _MARKS_AT_MOST:
            top["mode"] = "lines"
        bands += under
        tops.append(top)
        values += finite([*one.middle, *one.low, *one.high])
    last = max(one.iterations[-1] for one, _, _ in lines) + 1
    x = axis("iteration") if last <= _LOG_FROM else log_axis("iteration, log scale", 1.0, float(last))
    return Figure(title, _HEIGHT_PX, bands + tops, layout(x, value_axis("iteration / steady state", values)))
