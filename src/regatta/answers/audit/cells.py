"""Draw the cells of an audit: a single number next to its interval, and interval width over invocations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from regatta.answers.audit.result import Audit, Precision
from regatta.answers.kit.heap_curves import heap_groups
from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import Panel, cell_hover, panels_of, series_key
from regatta.answers.spine.result import Answer, CellAnswer
from regatta.figures.axes import Figure, Group, Trace, axis, layout
from regatta.figures.curves import error_bars
from regatta.figures.text import (
    choose_scale,
    finite,
    joined,
    parameters_text,
    plot_text,
    shorten,
    show_heap,
    show_percent,
    tidy,
)
from regatta.stats.estimate import Interval

_HEIGHT_PX = 300
#: number of families in the figure that compares best and interval
_EXAMPLES = 2
#: number of places in the figure of width over n
_PLACES = 12


def best_of(cell: CellAnswer) -> CellAnswer:
    """Return the cell with the best of all its invocations as the estimate, without an interval."""
    values = [sample.value for sample in cell.samples]
    point = (min if cell.better == "lower" else max)(values)
    return replace(
        cell, estimate=Interval(len(values), point, math.nan, math.nan, cell.estimate.level, "best")
    )


def panels_for(cells: Iterable[CellAnswer]) -> list[Panel]:
    """Build panels of cells that are not part of an answer."""
    return panels_of(Answer("", "", 0, "", 0.95, {}, {}, tuple(cells), (), (), (), ()))


def example_groups(audit: Audit, looks: Looks) -> list[Group]:
    """Compare best with mean and interval, for the families in which best misleads most (figure 1)."""
    groups = []
    for rows in audit.telling[:_EXAMPLES]:
        cells = _cells_of(audit, rows)
        if len(cells) < 2:
            continue
        first = cells[0]
        title = " · ".join(
            part
            for part in (
                first.place.benchmark,
                show_heap(first.place.heap, "heap "),
                parameters_text(first.parameters),
            )
            if part
        )
        spread = [v for c in cells for v in (c.estimate.low, c.estimate.high, best_of(c).estimate.point)]
        figures = [
            _dots("best of all", [best_of(cell) for cell in cells], spread, looks),
            _dots(f"mean with {show_percent(audit.level)} CI", cells, spread, looks),
        ]
        note = (
            "Each bar is the interval of one mean. Significance comes from simultaneous intervals of ratios, paired by block if "
            "possible. Bars of a significant pair can overlap."
        )
        groups.append(Group(title, figures, looks.legend(cells), note))
    return groups


def heap_pairs(audit: Audit, looks: Looks) -> list[Group]:
    """Draw means with intervals and best values over heap size, on one scale (figures 8 to 10)."""
    cells = [precision.cell for precision in audit.precisions]
    means = heap_groups(panels_for(cells), looks)
    bests = {group.title: group for group in heap_groups(panels_for(map(best_of, cells)), looks)}
    groups = []
    for group in means:
        pairs = list(zip(group.figures, bests[group.title].figures, strict=True))
        axes = [figure.layout["yaxis"] for pair in pairs for figure in pair]
        values = finite(v for pair in pairs for f in pair for t in f.traces for v in _drawn(t))
        if values and all("type" not in one for one in axes):
            room = 0.05 * (max(values) - min(values))
            for one in axes:
                one["range"] = [min(values) - room, max(values) + room]
        figures = []
        for figure, best in pairs:
            best.layout["yaxis"]["title"] = figure.layout["yaxis"]["title"]
            name = figure.title
            figures += [
                replace(figure, title=f"{name} · mean with CI".removeprefix(" · ")),
                replace(best, title=f"{name} · best of all".removeprefix(" · ")),
            ]
        groups.append(Group(group.title, figures, group.legend))
    return groups


def width_groups(audit: Audit, looks: Looks) -> list[Group]:
    """Draw interval width over the number of invocations, one figure per benchmark and heap (figure 16)."""
    places: dict[str, list[Precision]] = {}
    for precision in audit.precisions:
        cell = precision.cell
        parts = (
            cell.place.benchmark,
            show_heap(cell.place.heap.asked, "heap "),
            _host(audit, cell),
            parameters_text(cell.parameters),
        )
        places.setdefault(joined(*parts), []).append(precision)
    figures = [
        _widths(place, each, looks)
        for place, each in list(places.items())[:_PLACES]
        if any(finite(p.widths_percent[2:]) for p in each)
    ]
    note = f"First {_PLACES} of {len(places)} combinations." if len(places) > _PLACES else ""
    return [Group("", figures, looks.legend([p.cell for p in audit.precisions]), note)] if figures else []


def needed_groups(audit: Audit, looks: Looks) -> list[Group]:
    """Draw the invocations that a narrow interval needs, over heap size (figure 17)."""
    by_key = {(*series_key(p.cell), p.cell.place.host): p for p in audit.precisions}
    groups = []
    for panel in panels_for(p.cell for p in audit.precisions):
        heaps = {_heap(cell) for cell in panel.cells} - {None}
        if len(heaps) < 2 or panel.series_parameter:
            continue
        figures = []
        for at, (wanted, _, _) in enumerate(audit.precisions[0].needed):
            lines: dict[str, list[tuple[float, Precision]]] = {}
            for cell in panel.cells:
                heap = _heap(cell)
                if heap is not None:
                    lines.setdefault(panel.name(cell), []).append(
                        (heap, by_key[(*series_key(cell), cell.place.host)])
                    )
            figures.append(
                _needed(f"CI width {wanted:g} % of the mean", at, list(lines.values()), audit.maximum, looks)
            )
        groups.append(Group(panel.title, figures, looks.legend(panel.cells)))
    return groups


def _cells_of(audit: Audit, rows: Sequence[int]) -> list[CellAnswer]:
    wanted: list[CellAnswer] = []
    for pair in (audit.pairs[row] for row in rows):
        for name in (pair.a, pair.b):
            factors = {
                "runtime": pair.place.runtime,
                "collector": pair.place.collector,
                "modifiers": pair.place.modifiers,
                audit.factor: name,
            }
            for precision in audit.precisions:
                cell, place = precision.cell, precision.cell.place
                if (
                    (place.host, place.benchmark, place.heap.asked, cell.parameters)
                    == (pair.place.host, pair.place.benchmark, pair.place.heap.asked, pair.parameters)
                    and all(getattr(place, factor) == value for factor, value in factors.items())
                    and cell not in wanted
                ):
                    wanted.append(cell)
    return wanted


def _dots(title: str, cells: Sequence[CellAnswer], spread: Sequence[float], looks: Looks) -> Figure:
    scale = choose_scale([cell.estimate for cell in cells], cells[0].unit)
    traces: list[Trace] = []
    for at, cell in enumerate(cells):
        look, estimate = looks.of(cell), cell.estimate
        trace: Trace = {
            "type": "scatter",
            "mode": "markers",
            "x": [at],
            "y": [scale.tidy(estimate.point)],
            "marker": {"color": look.colour, "symbol": look.mark, "size": 11},
            "hoverinfo": "text",
            "hovertext": [cell_hover(cell, f"{scale.with_unit(estimate.point)}, n {estimate.n}")],
        }
        if math.isfinite(estimate.low):
            above, below = estimate.high - estimate.point, estimate.point - estimate.low
            trace["error_y"] = error_bars([scale.tidy(above)], [scale.tidy(below)], look.colour, width=6)
        traces.append(trace)
    values = [v * scale.factor for v in finite(spread)]
    room = 0.08 * (max(values) - min(values)) or 0.05 * abs(values[0])
    names = [plot_text(shorten(cell.place.configuration, 18)) for cell in cells]
    unit = f" ({scale.unit})" if scale.unit else ""
    y = axis(f"{shorten(cells[0].metric, 24)}{unit}", range=[min(values) - room, max(values) + room])
    x = axis(tickvals=list(range(len(cells))), ticktext=names, range=[-0.6, len(cells) - 0.4], showgrid=False)
    return Figure(title, _HEIGHT_PX, traces, layout(x, y))


def _widths(title: str, precisions: Sequence[Precision], looks: Looks) -> Figure:
    traces: list[Trace] = []
    for precision in precisions:
        look = looks.of(precision.cell)
        n = range(3, len(precision.widths_percent) + 1)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": list(n),
                "y": [tidy(precision.widths_percent[i - 1]) for i in n],
                "line": {"color": look.colour, "width": 2, "dash": look.dash},
                "marker": {"color": look.colour, "symbol": look.mark, "size": 7},
                "hoverinfo": "text",
                "hovertext": [
                    cell_hover(
                        precision.cell, f"n = {i}: {precision.widths_percent[i - 1]:.2f} % of the mean"
                    )
                    for i in n
                ],
                "connectgaps": False,
            }
        )
    x = axis("invocations", dtick=1 if max(len(p.widths_percent) for p in precisions) <= 12 else 5)
    return Figure(title, _HEIGHT_PX, traces, layout(x, axis("CI width (% of mean)", rangemode="tozero")))


def _needed(
    title: str, at: int, lines: Sequence[Sequence[tuple[float, Precision]]], maximum: int, looks: Looks
) -> Figure:
    traces: list[Trace] = []
    for line in lines:
        ordered = sorted(line, key=lambda entry: entry[0])
        look = looks.of(ordered[0][1].cell)
        texts = []
        for _, precision in ordered:
            _, until, needed = precision.needed[at]
            required = f"> {maximum}" if needed > maximum else str(needed)
            reached = f"reached after {until}" if until else "not reached"
            texts.append(cell_hover(precision.cell, f"required invocations: {required}", reached))
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": [heap for heap, _ in ordered],
                "y": [precision.needed[at][2] or None for _, precision in ordered],
                "line": {"color": look.colour, "width": 2, "dash": look.dash},
                "marker": {"color": look.colour, "symbol": look.mark, "size": 7},
                "hoverinfo": "text",
                "hovertext": texts,
                "connectgaps": False,
            }
        )
    factors = all(p.cell.place.heap.factor is not None for line in lines for _, p in line)
    x = axis("heap (multiple of minheap)" if factors else "heap (MiB)")
    ticks = [*range(0, maximum, 5), maximum + 1]
    y = axis(
        "required invocations",
        range=[0, maximum + 2.5],
        tickvals=ticks,
        ticktext=[*map(str, ticks[:-1]), plot_text(f">{maximum}")],
    )
    return Figure(title, _HEIGHT_PX, traces, layout(x, y))


def _drawn(trace: Trace) -> list[float]:
    """Return all ordinates of a trace, including the ends of its error bars."""
    ys = [math.nan if y is None else float(y) for y in trace["y"]]
    bars = trace.get("error_y")
    if not bars:
        return ys
    ends = [y + d for y, d in zip(ys, bars["array"], strict=True) if d is not None]
    return ys + ends + [y - d for y, d in zip(ys, bars["arrayminus"], strict=True) if d is not None]


def _heap(cell: CellAnswer) -> float | None:
    if cell.place.heap.factor is not None:
        return cell.place.heap.factor
    return None if cell.place.heap.mib is None else float(cell.place.heap.mib)


def _host(audit: Audit, cell: CellAnswer) -> str:
    return f"on {cell.place.host}" if len({p.cell.place.host for p in audit.precisions}) > 1 else ""
