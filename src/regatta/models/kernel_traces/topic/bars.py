"""Stacked bars: the times of a transaction in each phase, by kind."""

from __future__ import annotations

import math

from regatta.figures.axes import Figure, Trace, axis, layout
from regatta.figures.looks import LegendEntry, Look
from regatta.figures.text import hover, plot_text, show_ends, show_percent, show_quantity, significant, tidy
from regatta.models.kernel_traces.topic.result import NO_PHASE, TIMES, Phase, TracedCell, Tracing

_COLOURS = {
    "process": "@c0", "spin": "@c3", "interrupts": "@c1", "ready": "@c4", "network": "@c2", "disk": "@c6", "lock": "@c7",
    "others": "@c5", "rest": "@muted",
}  # fmt: skip
_US = 1e-3
#: Ratio of the longest bars of two cells up to which they have the same axis.
_SAME_AXIS = 3.0
_ROW_PX, _FRAME_PX = 26, 70


def phase_figures(found: Tracing) -> list[Figure]:
    """Return one figure per cell, one bar per phase, on the same axis unless that hides bars."""
    cells = [cell for cell in found.cells if any(phase.elapsed.point > 0 for phase in cell.phases)]
    longest = [max(_length(phase) for phase in cell.phases) for cell in cells]
    if cells and max(longest) <= _SAME_AXIS * min(longest):
        longest = [max(longest)] * len(cells)
    return [_figure(cell, length) for cell, length in zip(cells, longest, strict=True)]


def legend_of(found: Tracing) -> list[LegendEntry]:
    """Return the kinds of time that occur."""
    seen = [
        key
        for key in TIMES
        if any(phase.times[key].point > 0 for cell in found.cells for phase in cell.phases)
    ]
    return [LegendEntry(TIMES[key], Look(_COLOURS[key], "square", "solid")) for key in seen]


def _length(phase: Phase) -> float:
    return math.fsum(time.point for time in phase.times.values() if math.isfinite(time.point)) * _US


def _figure(cell: TracedCell, longest: float) -> Figure:
    rows = list(range(len(cell.phases)))
    traces: list[Trace] = []
    for key, name in TIMES.items():
        if not any(phase.times[key].point > 0 for phase in cell.phases):
            continue
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": name,
                "x": [tidy(phase.times[key].point * _US) for phase in cell.phases],
                "y": rows,
                "marker": {"color": _COLOURS[key], "line": {"width": 0.5, "color": "@paper"}},
                "hoverinfo": "text",
                "hovertext": [_text(phase, key) for phase in cell.phases],
            }
        )
    names = [phase.name if phase.name != NO_PHASE else "no phase" for phase in cell.phases]
    y = axis(
        range=[len(rows) - 0.5, -0.5],
        tickvals=rows,
        ticktext=[plot_text(name) for name in names],
        showgrid=False,
    )
    x = axis("time per transaction (µs)", range=[0, 1.02 * longest])
    height = _FRAME_PX + _ROW_PX * len(rows)
    return Figure(cell.name, height, traces, layout(x, y, barmode="stack", bargap=0.25))


def _text(phase: Phase, key: str) -> str:
    time = phase.times[key]
    ends = show_ends(time, lambda value: significant(value * _US, 4))
    return hover(
        f"{phase.name}: {TIMES[key]}",
        f"mean {show_quantity(time.point, 'ns', 4)}, n = {time.n}",
        f"{show_percent(time.level)} CI {ends} µs" if ends else time.reason,
    )
