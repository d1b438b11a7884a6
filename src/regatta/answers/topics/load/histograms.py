"""Draw histograms under load: one small panel per load on a common axis, to show groups of invocations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regatta.answers.topics.load.compute import LoadCurve
from regatta.figures.axes import Figure, Trace, axis, layout
from regatta.figures.curves import Point
from regatta.figures.labelled import NamedLine, plain_quantity
from regatta.figures.text import hover, plot_text, tidy

#: With fewer values at every load, points show the same as a histogram.
LEAST_VALUES = 5
_BINS = 40
_PANEL_PX, _FRAME_PX = 58, 60
#: share of a panel's height above its bars
_FREE = 0.25


def histograms(title: str, curve: LoadCurve, name: str, cpus: int | None) -> Figure | None:
    """Draw the values of a curve's invocations by load, smallest load on top; None if no load has enough values."""
    points = [point for point in curve.points if point.values]
    if not any(len(point.values) >= LEAST_VALUES for point in points):
        return None
    every = [value for point in points for value in point.values if math.isfinite(value)]
    line = NamedLine("", [Point(0.0, value, math.nan, math.nan, "") for value in (min(every), max(every))])
    quantity = plain_quantity(curve.metric, curve.unit, [line])
    factor, unit = quantity.scale.factor, quantity.scale.unit
    low, high = min(every) * factor, max(every) * factor
    room = 0.03 * (high - low) or 0.05 * abs(high) or 1.0
    edges = np.linspace(low - room, high + room, _BINS + 1)
    traces: list[Trace] = []
    panels: dict[str, object] = {}
    labels = []
    for number, point in enumerate(points):
        counts = np.histogram([value * factor for value in point.values], edges)[0].tolist()
        top, bottom = 1 - number / len(points), 1 - (number + 1) / len(points)
        suffix = "" if number == 0 else str(number + 1)
        traces.append(_bars(counts, edges.tolist(), point.parallel, unit, name, suffix))
        panels[f"yaxis{suffix}"] = axis(
            domain=[bottom, bottom + (top - bottom) * (1 - _FREE)],
            range=[0, max(1, *counts)],
            tickvals=[max(1, *counts)],
            nticks=1,
            fixedrange=True,
            anchor="x",
        )
        beyond = ", more than CPUs" if cpus is not None and point.parallel > cpus else ""
        many = "process" if point.parallel == 1 else "processes"
        labels.append(
            {
                "xref": "paper",
                "yref": "paper",
                "x": 0,
                "xanchor": "left",
                "y": top,
                "yanchor": "top",
                "showarrow": False,
                "text": plot_text(f"{point.parallel} {many}{beyond}, n = {len(point.values)}"),
                "font": {"size": 11, "color": "@ink"},
                "borderpad": 0,
            }
        )
    lowest = "y" if len(points) == 1 else f"y{len(points)}"
    x = axis(
        str(quantity.axis["title"]["text"]).removesuffix(", log scale"),
        range=[low - room, high + room],
        anchor=lowest,
    )
    frame = layout(x, dict(panels.pop("yaxis")), bargap=0, annotations=labels, **panels)  # type: ignore[call-overload]
    return Figure(title, _FRAME_PX + _PANEL_PX * len(points), traces, frame)


def _bars(
    counts: Sequence[int], edges: Sequence[float], load: int, unit: str, name: str, suffix: str
) -> Trace:
    filled = [i for i, count in enumerate(counts) if count]
    return {
        "type": "bar",
        "x": [tidy((edges[i] + edges[i + 1]) / 2) for i in filled],
        "y": [counts[i] for i in filled],
        "width": tidy(edges[1] - edges[0]),
        "yaxis": f"y{suffix}",
        "marker": {"color": "@c0", "line": {"width": 0}},
        "hoverinfo": "text",
        "hovertext": [
            hover(
                name,
                f"{load} {'process' if load == 1 else 'processes'}",
                f"{counts[i]} between {edges[i]:.4g} and {edges[i + 1]:.4g} {unit}",
            )
            for i in filled
        ],
    }
