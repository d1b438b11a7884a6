"""Shape, axes and ticks of all figures.

Figures are plain dictionaries in plotly's schema, because plotly's Python objects validate every value, which takes seconds for
a report of 300 cells. Colors are slots (`@ink`, `@c0/0.2`) that the page resolves for its scheme.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from regatta.figures.looks import LegendEntry
from regatta.figures.text import plot_text, significant
from regatta.host.units import display_scale

Trace = dict[str, Any]
#: An axis is logarithmic from this ratio of largest to smallest value.
LOG_FROM = 20.0
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Figure:
    """One plot. `title` is plain text of the page; `height` is in CSS pixels."""

    title: str
    height: int
    traces: list[Trace]
    layout: dict[str, Any]


@dataclass(frozen=True)
class Group:
    """A group of figures in one collapsible part. `note` is plain text above them."""

    title: str
    figures: list[Figure]
    legend: list[LegendEntry] = field(default_factory=list)
    note: str = ""


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """Return an axis with a thin grid and room for its labels."""
    return {
        "title": {"text": plot_text(title), "font": {"size": 12}, "standoff": 8},
        "gridcolor": "@grid",
        "linecolor": "@grid",
        "zeroline": False,
        "automargin": True,
        "tickfont": {"size": 11},
        **more,
    }


def log_axis(title: str, low: float, high: float, texts: dict[float, str] | None = None) -> dict[str, Any]:
    """Return a logarithmic axis from `low` to `high` (both > 0) with readable ticks; `texts` overrides their labels."""
    ticks = texts or {value: significant(value, 1) for value in log_ticks(low, high)}
    room = max(0.02, 0.04 * math.log10(high / low))
    return axis(
        title,
        type="log",
        range=[math.log10(low) - room, math.log10(high) + room],
        tickvals=list(ticks),
        ticktext=list(ticks.values()),
    )


def value_axis(title: str, values: Sequence[float], **more: Any) -> dict[str, Any]:
    """Return a linear axis, or a logarithmic one if the values span more than `LOG_FROM`."""
    if values and min(values) > 0 and max(values) / min(values) > LOG_FROM:
        return log_axis(f"{title}, log scale", min(values), max(values)) | more
    return axis(title, **more)


def layout(x: dict[str, Any], y: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the common layout of figures, without title and legend, which are part of the page."""
    return {
        "xaxis": x,
        "yaxis": y,
        "showlegend": False,
        "margin": {"l": 12, "r": 14, "t": 12, "b": 12},
        "paper_bgcolor": "@none",
        "plot_bgcolor": "@none",
        "font": {"family": _FONT, "size": 12, "color": "@ink"},
        "hoverlabel": {
            "bgcolor": "@paper",
            "bordercolor": "@ink",
            "font": {"color": "@ink", "size": 12},
            "align": "left",
        },
        "hovermode": "closest",
        **more,
    }


def row_label(y: float, text: str, *, side: str = "left", bold: bool = False) -> dict[str, Any]:
    """Return a label inside the plot above row `y`, so that long names use no width on a phone."""
    shown = plot_text(text)
    return {
        "xref": "paper",
        "x": 0 if side == "left" else 1,
        "xanchor": side,
        "y": y,
        "yref": "y",
        "yanchor": "bottom",
        "showarrow": False,
        "text": f"<b>{shown}</b>" if bold else shown,
        "font": {"size": 11, "color": "@ink" if side == "left" else "@muted"},
        "bgcolor": "@paper",
        "borderpad": 0,
    }


def log_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2, 5 of each power of ten between two positive bounds, or only the powers over a wide range."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(exponents) <= 3 else (1, 3) if len(exponents) <= 4 else (1,)
    ticks = [step * 10.0**e for e in exponents for step in steps]
    inside = [t for t in ticks if low * 0.9 <= t <= high * 1.1]
    return inside if len(inside) >= 2 else [low, high]


def parameter_axis(name: str, values: Sequence[float]) -> dict[str, Any]:
    """Return the axis of a numeric parameter. Ticks of sizes in bytes are powers of two."""
    positive = bool(values) and min(values) > 0
    if not positive or max(values) / min(values) <= LOG_FROM:
        return axis(name)
    low, high = min(values), max(values)
    if not name.endswith("bytes"):
        return log_axis(f"{name}, log scale", low, high)
    first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
    step = max(1, math.ceil((last - first) / 6))
    texts: dict[float, str] = {}
    for exponent in range(first, last + 1, step):
        factor, unit = display_scale(2.0**exponent, "bytes")
        texts[2.0**exponent] = f"{2.0**exponent * factor:g} {'B' if unit == 'bytes' else unit}"
    return log_axis(f"{name}, log scale", low, high, texts)
