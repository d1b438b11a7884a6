"""Stacked bars: the shares of a few classes in a whole, one bar per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regatta.figures.axes import Figure, Trace, axis, layout
from regatta.figures.text import plot_text, shorten

_ROW_PX, _FRAME_PX = 24, 70
_NAME_CHARACTERS = 28


@dataclass(frozen=True)
class SharedClass:
    """A class in all bars: its color (a slot), its share of each bar (0 to 1), and its hover texts."""

    colour: str
    shares: Sequence[float]
    texts: Sequence[str]


def share_bars(title: str, names: Sequence[str], classes: Sequence[SharedClass]) -> Figure:
    """Draw one bar per name, stacked from classes in their order, from 0 to 100 % of the comparisons."""
    rows = list(range(len(names)))
    traces: list[Trace] = [
        {
            "type": "bar",
            "orientation": "h",
            "x": [round(100.0 * share, 3) for share in one.shares],
            "y": rows,
            "marker": {"color": one.colour, "line": {"width": 0.5, "color": "@paper"}},
            "hoverinfo": "text",
            "hovertext": list(one.texts),
        }
        for one in classes
    ]
    y = axis(
        range=[len(rows) - 0.5, -0.5],
        tickvals=rows,
        ticktext=[plot_text(shorten(name, _NAME_CHARACTERS)) for name in names],
        showgrid=False,
    )
    frame = layout(axis("comparisons (%)", range=[0, 100]), y, barmode="stack", bargap=0.25)
    return Figure(title, _FRAME_PX + _ROW_PX * len(rows), traces, frame)
