"""Forest plots: each alternative's ratio to the baseline with its interval, and a line where nothing changes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.model.answer import Answer, CellAnswer, Comparison
from regatta.report.axes import LOG_FROM, Figure, Group, Trace, axis, layout, log_axis, row_label
from regatta.report.labels import heap_label, hover, parameters_key, parameters_text, shorten
from regatta.report.looks import Looks
from regatta.report.panels import Panel, SeriesKey, series_key
from regatta.report.quantities import ABSENT, finite, interval, show_p, show_percent, show_ratio, tidy

_ROW_PX = 40
_FRAME_PX = 84
#: More rows than this and each heap gets a figure of its own.
_ROWS_AT_MOST = 24


def forest_groups(answer: Answer, panels: Sequence[Panel], looks: Looks) -> list[Group]:
    """One group a panel that has comparisons. Curves over a parameter are left to `series`."""
    groups = []
    for panel in panels:
        cells = {series_key(cell): cell for cell in panel.cells}
        rows = [] if panel.series_parameter else comparisons_of(answer.comparisons, panel)
        figures = _figures(rows, panel, cells, looks)
        if figures:
            groups.append(Group(panel.title, figures, looks.legend(panel.cells), _note(rows)))
    return groups


def comparisons_of(comparisons: Sequence[Comparison], panel: Panel) -> list[Comparison]:
    """Comparisons whose alternative is a cell of the panel."""
    ids = {cell.cell_id for cell in panel.cells}
    return [c for c in comparisons if c.a in ids and c.metric == panel.metric]


def _figures(
    rows: list[Comparison], panel: Panel, cells: dict[SeriesKey, CellAnswer], looks: Looks
) -> list[Figure]:
    if not finite(bound for row in rows for bound in (row.ratio.point,)):
        return []
    by_heap: dict[str, list[Comparison]] = {}
    heaps = [cell for _, group in panel.by_heap() for cell in group]
    labels = {cell.cell_id: label for label, group in panel.by_heap() for cell in group}
    place = {cell.cell_id: number for number, cell in enumerate(heaps)}
    for row in sorted(rows, key=lambda row: place[row.a]):
        by_heap.setdefault(labels[row.a], []).append(row)
    span = _span(rows)
    if len(rows) <= _ROWS_AT_MOST:
        return [_figure("", by_heap, panel, cells, looks, span)]
    return [
        _figure(f"heap {heap}" if heap else "", {"": group}, panel, cells, looks, span)
        for heap, group in by_heap.items()
    ]


def _figure(
    title: str,
    by_heap: dict[str, list[Comparison]],
    panel: Panel,
    cells: dict[SeriesKey, CellAnswer],
    looks: Looks,
    span: tuple[float, float],
) -> Figure:
    baselines = {_baseline(row) for group in by_heap.values() for row in group}
    one = baselines.pop() if len(baselines) == 1 else ""
    traces: list[Trace] = []
    labels = []
    y = 0.0
    for heap, group in by_heap.items():
        if heap:
            labels.append(row_label(y - 0.75, f"heap {heap}", bold=True))
            y -= 0.65
        for row in group:
            y -= 1
            name = row.a_name if one else f"{row.a_name} vs {_baseline(row)}"
            if panel.varying and (
                extra := parameters_text(row.parameters, frozenset(row.parameters) - panel.varying)
            ):
                name = f"{name}, {extra}"
            labels.append(row_label(y + 0.2, shorten(name)))
            labels.append(row_label(y + 0.2, _reading(row), side="right"))
            cell = cells.get((row.a, row.metric, parameters_key(row.parameters)))
            if cell is not None and math.isfinite(row.ratio.point):
                traces.append(_trace(row, y, looks, cell))
    rows = round(-y, 2)
    traces.insert(0, _line_at_one(y))
    what = f"ratio to {shorten(one, 30)}" if one else "ratio to the baseline"
    text = f"{what} ({panel.better} is better)"
    x = log_axis(text, *span) if span[1] / span[0] > LOG_FROM else axis(text, range=list(_padded(span)))
    return Figure(
        title,
        int(_FRAME_PX + _ROW_PX * rows),
        traces,
        layout(x, axis(range=[y - 0.5, 0.1], visible=False), annotations=labels),
    )


def _baseline(row: Comparison) -> str:
    """The baseline's name without the words that the alternative has too: `g1` in `jdk-21 z` against `jdk-21 g1`."""
    shared = set(row.a_name.split())
    return " ".join(word for word in row.b_name.split() if word not in shared) or row.b_name


def _trace(row: Comparison, y: float, looks: Looks, cell: CellAnswer) -> Trace:
    look = looks.of(cell)
    point, low, high = row.ratio.point, row.ratio.low, row.ratio.high
    reading = (
        f"{show_percent(row.ratio.level)} interval {show_ratio(low)} to {show_ratio(high)}, p {show_p(row.p)}"
    )
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [tidy(point)],
        "y": [y],
        "marker": {"symbol": look.mark, "size": 10, "color": look.colour},
        "hoverinfo": "text",
        "hovertext": [
            hover(
                f"{row.a_name} vs {row.b_name}",
                f"heap {heap}" if (heap := heap_label(row.heap_factor, row.heap_mib)) else "",
                f"ratio {show_ratio(point)}",
                reading,
                f"n {row.ratio.n}, {row.ratio.method}",
            )
        ],
    }
    if math.isfinite(low) and math.isfinite(high):
        trace["error_x"] = {
            "type": "data",
            "symmetric": False,
            "array": [tidy(high - point)],
            "arrayminus": [tidy(point - low)],
            "color": look.colour,
            "thickness": 2,
            "width": 5,
        }
    return trace


def _line_at_one(bottom: float) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [1, 1],
        "y": [bottom - 0.5, 0.1],
        "line": {"color": "@ink", "width": 1, "dash": "dash"},
        "hoverinfo": "skip",
    }


def _reading(row: Comparison) -> str:
    low, high = show_ratio(row.ratio.low), show_ratio(row.ratio.high)
    ends = interval(low, high)
    if not math.isfinite(row.ratio.point):
        return f"{ABSENT} {shorten(row.ratio.reason, 24)}".strip()
    return f"{show_ratio(row.ratio.point)} ({low}–{high})" if ends else show_ratio(row.ratio.point)


def _span(rows: Sequence[Comparison]) -> tuple[float, float]:
    """Smallest and largest ratio to be shown, 1 among them; on a log axis only positive ones can be."""
    values = [
        v
        for row in rows
        for v in (row.ratio.point, row.ratio.low, row.ratio.high)
        if math.isfinite(v) and v > 0
    ]
    return min([1.0, *values]), max([1.0, *values])


def _padded(span: tuple[float, float]) -> tuple[float, float]:
    room = max(0.02, 0.06 * (span[1] - span[0]))
    return span[0] - room, span[1] + room


def _note(rows: Sequence[Comparison]) -> str:
    return "; ".join(sorted({row.ratio.method for row in rows if row.ratio.method}))
