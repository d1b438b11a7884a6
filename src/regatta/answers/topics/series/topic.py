"""The topic of metrics over a numeric parameter, such as memory latency over the read size."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import (
    PERCENTILE,
    Panel,
    cell_hover,
    compared_keys,
    comparisons_of,
    group_heap_label,
    numeric,
    parameters_but,
    series_key,
)
from regatta.answers.kit.topic import Topic
from regatta.answers.kit.view import View
from regatta.answers.spine.result import Answer, CellAnswer, Comparison
from regatta.figures.axes import Figure, Group, Trace, layout, parameter_axis, value_axis
from regatta.figures.curves import Point, curve
from regatta.figures.looks import Look
from regatta.figures.section import Section
from regatta.figures.text import (
    Scale,
    estimate_texts,
    finite,
    hover,
    joined,
    parameters_text,
    show_ci,
    show_percent,
    show_ratio,
)
from regatta.stats.estimate import Interval

_HEIGHT_PX = 360
_RATIO = Scale(1.0, "", 3)


def series_section(_: None, view: View) -> Section | None:
    """Return the metric over a numeric parameter."""
    groups = _groups(view.answer, view.panels, view.looks)
    if not groups:
        return None
    return Section(
        "series",
        words=f"The metric over one numeric parameter. Bars or bands are {show_percent(view.answer.level)} confidence intervals.",
        groups=groups,
    )


def _groups(answer: Answer, panels: Sequence[Panel], looks: Looks) -> list[Group]:
    """Return one group per panel with such a parameter: the values, then the ratios to the baseline."""
    groups = []
    for panel in panels:
        if panel.series_parameter in ("", PERCENTILE):
            continue
        figures = [*_values(panel, looks), *_ratios(answer.comparisons, panel, looks)]
        if figures:
            groups.append(Group(panel.title, figures, looks.legend(panel.cells), _fixed(panel)))
    return groups


def _fixed(panel: Panel) -> str:
    return parameters_text(panel.cells[0].parameters, panel.varying)


def _values(panel: Panel, looks: Looks) -> list[Figure]:
    """Return one figure per heap and setting of the other parameters."""
    groups: dict[str, list[CellAnswer]] = {}
    for heap, cells in panel.by_heap():
        for cell in cells:
            if numeric(cell.parameters, panel.series_parameter) is not None:
                other = parameters_but(cell, panel.varying, panel.series_parameter)
                title = joined(f"heap {heap}" if heap else "", other)
                groups.setdefault(title, []).append(cell)

    def point(cell: CellAnswer) -> Point:
        text = cell_hover(cell, *estimate_texts(cell.estimate, panel.scale))
        return _point(cell, cell.estimate, panel, text)

    return [
        figure
        for title, cells in groups.items()
        if (figure := _figure(title, cells, point, panel, looks, panel.scale, panel.axis))
    ]


def _ratios(comparisons: Sequence[Comparison], panel: Panel, looks: Looks) -> list[Figure]:
    rows = {compared_keys(row)[0]: row for row in comparisons_of(comparisons, panel)}
    cells = [
        cell
        for cell in panel.cells
        if series_key(cell) in rows and numeric(cell.parameters, panel.series_parameter) is not None
    ]

    def point(cell: CellAnswer) -> Point:
        row = rows[series_key(cell)]
        ends = show_ci(row.ratio)
        text = hover(
            f"{row.a_name} vs {row.b_name}",
            parameters_text(row.parameters),
            f"ratio {show_ratio(row.ratio.point)}",
            f"{show_percent(row.ratio.level)} CI {ends}" if ends else row.ratio.reason,
        )
        return _point(cell, row.ratio, panel, text)

    groups: dict[str, list[CellAnswer]] = {}
    for cell in cells:
        heap = group_heap_label([cell])
        other = parameters_but(cell, panel.varying, panel.series_parameter)
        title = joined("ratio to the baseline", f"heap {heap}" if heap else "", other)
        groups.setdefault(title, []).append(cell)
    axis_title = f"ratio to the baseline ({panel.better} is better)"
    return [
        figure
        for title, group in groups.items()
        if (figure := _figure(title, group, point, panel, looks, _RATIO, axis_title))
    ]


def _point(cell: CellAnswer, estimate: Interval, panel: Panel, text: str) -> Point:
    x = numeric(cell.parameters, panel.series_parameter)
    return Point(0.0 if x is None else x, estimate.point, estimate.low, estimate.high, text)


def _figure(
    title: str,
    cells: Sequence[CellAnswer],
    point: Callable[[CellAnswer], Point],
    panel: Panel,
    looks: Looks,
    scale: Scale,
    axis_title: str,
) -> Figure | None:
    lines: dict[str, tuple[Look, list[Point]]] = {}
    for cell in cells:
        name = f"{cell.cell_id} {parameters_but(cell, panel.varying, panel.series_parameter)}"
        lines.setdefault(name, (looks.of(cell), []))[1].append(point(cell))
    bands: list[Trace] = []
    tops: list[Trace] = []
    for look, points in lines.values():
        *under, top = curve(sorted(points, key=lambda p: p.x), look, scale)
        bands += under
        tops.append(top)
    every = [p for _, points in lines.values() for p in points]
    if not finite(p.y for p in every):
        return None
    y = value_axis(axis_title, finite(v * scale.factor for p in every for v in (p.y, p.low, p.high)))
    return Figure(
        title,
        _HEIGHT_PX,
        bands + tops,
        layout(parameter_axis(panel.series_parameter, [p.x for p in every]), y),
    )


SERIES: Topic[None] = Topic("series", title="Parameter curves", empty=None, section=series_section)
