"""Figures of many lines with the name of each at its end, which are easier to read than a legend of eight colors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from regatta.figures.axes import LOG_FROM, Figure, Trace, axis, layout, log_axis, log_ticks
from regatta.figures.curves import Point, curve
from regatta.figures.looks import HUES, MARKS, Look
from regatta.figures.text import (
    Scale,
    choose_scale,
    estimate_texts,
    finite,
    hover,
    plot_text,
    shorten,
    show_quantity,
    significant,
)
from regatta.host.units import UNITS
from regatta.stats.estimate import Interval

T = TypeVar("T")
#: A figure has at most as many lines as there are hues.
MOST_LINES = HUES
_LABEL_CHARACTERS = 26
_FONT_PX, _CHARACTER_PX = 11, 6.2
#: Left and right end of the line in the color of a name, from the plot.
_SWATCH_PX = (4, 16)
#: Height in a figure of the x axis, and of the top margin.
_BELOW_PX, _ABOVE_PX = 46, 20
_MARK_NAMES = tuple(MARKS)
#: Minimum span of a logarithmic axis, so that differences of a few per cent look small.
_LEAST_SPAN = 4.0
#: Maximum factor by which intervals extend such an axis beyond its points.
_INTERVAL_ROOM = 3.0
#: From this ratio of greatest to smallest measured value, their axis is logarithmic.
_LOG_MEASURED = 8.0
#: Bars of lines with few points are offset by this share of the x axis.
_DODGE, _BARS_BELOW = 0.008, 4


@dataclass(frozen=True)
class NamedLine:
    """A line with a name. `points` ascend in x; `y`, `low` and `high` are in the unit of the figure."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Mark:
    """A vertical line at `x` with a text above it."""

    x: float
    text: str


@dataclass(frozen=True)
class Quantity:
    """The quantity on the axis of a figure: `scale` from the unit of the points, and the axis in that unit."""

    scale: Scale
    axis: dict[str, Any]


def labelled_figure(
    title: str,
    lines: Sequence[NamedLine],
    x_axis: dict[str, Any],
    quantity: Quantity,
    marks: Sequence[Mark] = (),
    under: Sequence[Trace] = (),
    height_px: int = 380,
) -> Figure:
    """Draw at most `MOST_LINES` lines with their names on the right.

    Args:
        title: of the figure.
        lines: in the order of their hues.
        x_axis, quantity: axes with a `range` (of logarithms for logarithmic axes).
        marks: those outside the range of x are omitted.
        under: traces that lie under all lines.
        height_px: of the figure.
    """
    bands: list[Trace] = []
    tops: list[Trace] = []
    looks = [Look(f"@c{i % HUES}", _MARK_NAMES[i % len(_MARK_NAMES)], "solid") for i, _ in enumerate(lines)]
    for number, (line, look) in enumerate(zip(lines, looks, strict=True)):
        share = (number - (len(lines) - 1) / 2) * _DODGE if len(line.points) < _BARS_BELOW else 0.0
        points = _clipped(_moved(line.points, share, x_axis), quantity)
        *below, top = curve(points, look, quantity.scale)
        bands += below
        tops.append(top)
    inside = [m for m in marks if x_axis["range"][0] <= _place(m.x, x_axis) <= x_axis["range"][1]]
    names = [shorten(line.name, _LABEL_CHARACTERS) for line in lines]
    shapes, texts = _marks(inside, x_axis)
    right = 16 + _SWATCH_PX[1] + int(_CHARACTER_PX * max((len(name) for name in names), default=0))
    labels = _names(lines, names, looks, quantity, height_px)
    frame = layout(
        x_axis,
        quantity.axis,
        shapes=[*shapes, *(swatch for swatch, _ in labels)],
        annotations=[*texts, *(label for _, label in labels)],
    )
    frame["margin"] = {**frame["margin"], "r": right, "t": _ABOVE_PX}
    return Figure(title, height_px, [*under, *bands, *tops], frame)


def packs(lines: Sequence[T]) -> list[Sequence[T]]:
    """Return the lines in parts that fit one figure each."""
    return [lines[first : first + MOST_LINES] for first in range(0, len(lines), MOST_LINES)]


def measured_axis(title: str, values: Sequence[float]) -> dict[str, Any]:
    """Return an axis with ticks at the measured values (ascending, > 0), logarithmic if they are far apart."""
    low, high = values[0], values[-1]
    log = high / low > _LOG_MEASURED
    ends = [math.log10(low), math.log10(high)] if log else [low, high]
    room = 0.04 * (ends[1] - ends[0]) or 1.0
    kind = {"type": "log"} if log else {}
    return axis(
        title,
        range=[ends[0] - room, ends[1] + room],
        tickvals=list(values),
        ticktext=[f"{value:.15g}" for value in values],
        **kind,
    )


def estimate_point(x: float, estimate: Interval, unit: str, *lines: str, shown: str = "") -> Point:
    """Return a point of a line. Its hover text has `lines`, then mean with n, and the interval or why it is undefined.

    Args:
        x: position of the point.
        estimate: in `unit`.
        unit: of the estimate.
        lines: description of the point; empty lines are omitted.
        shown: unit of the figure, of the same dimension; "": that of the estimate.
    """
    text = hover(*lines, *estimate_texts(estimate, choose_scale([estimate], unit)))
    factor = UNITS[unit][1] / UNITS[shown][1] if shown and unit in UNITS else 1.0
    return Point(x, estimate.point * factor, estimate.low * factor, estimate.high * factor, text)


def time_quantity(title: str, lines: Sequence[NamedLine]) -> Quantity:
    """Return a logarithmic axis of times for points in ns. Each tick label includes its unit."""
    low, high = _spanned(lines, 1.0)
    texts = {}
    for tick in log_ticks(low, high):
        texts[tick] = show_quantity(tick, "ns", 6)
    return Quantity(Scale(1.0, "ns", None), log_axis(f"{title}, log scale", low, high, texts))


def plain_quantity(title: str, unit: str, lines: Sequence[NamedLine]) -> Quantity:
    """Return an axis from 0 for points in `unit`. It is logarithmic for lines far apart, linear if a value is negative."""
    values = finite(v for line in lines for p in line.points for v in (p.y, p.low, p.high))
    if not values:
        return Quantity(Scale(1.0, unit, None), axis(f"{title} ({unit})", range=[0, 1]))
    factor = 1.0
    if UNITS.get(unit, ("", 1.0))[0] == "bandwidth":
        # Bandwidth is in bytes regardless of the program: GB/s suits current memories.
        base = UNITS[unit][1]
        shown = "GB/s" if max(values) * base >= 2e9 else "MB/s"
        factor, unit = base / UNITS[shown][1], shown
    name = f"{title} ({unit})" if unit else title
    scale = Scale(factor, unit, None)
    points = finite(p.y for line in lines for p in line.points)
    if points and min(points) > 0 and max(points) / min(points) > LOG_FROM:
        low, high = _spanned(lines, factor)
        texts = {tick: significant(tick, 1) for tick in log_ticks(low, high)}
        return Quantity(scale, log_axis(f"{name}, log scale", low, high, texts))
    # An interval can extend below 0 where no value can be. It then ends at the axis.
    ends = [min(0.0, *points, 0.0) * factor, max(0.0, *values, 0.0) * factor]
    room = 0.06 * (ends[1] - ends[0]) or 1.0
    return Quantity(scale, axis(name, range=[ends[0] - (room if ends[0] < 0 else 0), ends[1] + room]))


def _spanned(lines: Sequence[NamedLine], factor: float) -> tuple[float, float]:
    """Return the span of a logarithmic axis: all points above 0, and their intervals as long as points stay readable."""
    points = [p for line in lines for p in line.points if p.y > 0]
    if not points:
        return 1.0, _LEAST_SPAN
    least, most = min(p.y for p in points), max(p.y for p in points)
    ends = finite(end for p in points for end in (p.low, p.high))
    low = max(least / _INTERVAL_ROOM, min((end for end in ends if end > 0), default=least))
    high = min(most * _INTERVAL_ROOM, max(ends, default=most))
    low, high = min(low, least) * factor, max(high, most) * factor
    if high / low < _LEAST_SPAN:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(_LEAST_SPAN), middle * math.sqrt(_LEAST_SPAN)
    return low, high


def _clipped(points: Sequence[Point], quantity: Quantity) -> list[Point]:
    """Clip intervals that reach 0 or below at the end of a logarithmic axis. The texts keep the true ends."""
    if quantity.axis.get("type") != "log":
        return list(points)
    floor = 10.0 ** quantity.axis["range"][0] / quantity.scale.factor
    return [
        Point(p.x, p.y if p.y > 0 else math.nan, floor if p.low <= 0 else p.low, p.high, p.text)
        for p in points
    ]


def _moved(points: Sequence[Point], share: float, x_axis: dict[str, Any]) -> Sequence[Point]:
    """Return the points moved along x by a share of the axis."""
    if not share:
        return points
    low, high = x_axis["range"]
    shift = share * (high - low)
    if x_axis.get("type") == "log":
        return [replace(point, x=point.x * 10.0**shift) for point in points]
    return [replace(point, x=point.x + shift) for point in points]


def _place(value: float, on: dict[str, Any]) -> float:
    """Return the position of a value on an axis, in the numbers of its range."""
    return math.log10(value) if on.get("type") == "log" else value


def _marks(
    marks: Sequence[Mark], x_axis: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    shapes: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    for mark in marks:
        place = _place(mark.x, x_axis)
        # Shapes take values even on a logarithmic axis; annotations take logarithms.
        shapes.append(
            {
                "type": "line",
                "xref": "x",
                "yref": "paper",
                "x0": mark.x,
                "x1": mark.x,
                "y0": 0,
                "y1": 1,
                # Draw above the grid, which can have a line at the same position.
                "line": {"color": "@muted", "width": 1.5, "dash": "dot"},
            }
        )
        texts.append(
            {
                **_label(plot_text(mark.text), "@muted"),
                "xref": "x",
                "x": place,
                "xanchor": "center",
                "yref": "paper",
                "y": 1,
                "yanchor": "bottom",
            }
        )
    return shapes, texts


def _names(
    lines: Sequence[NamedLine],
    names: Sequence[str],
    looks: Sequence[Look],
    quantity: Quantity,
    height_px: int,
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the name of each line, and a short line in its color, next to its last point; moved apart to avoid overlaps."""
    room = height_px - _BELOW_PX - _ABOVE_PX
    low, high = quantity.axis["range"]
    log = quantity.axis.get("type") == "log"
    ends = []
    for number, line in enumerate(lines):
        values = [
            p.y * quantity.scale.factor for p in line.points if math.isfinite(p.y) and (p.y > 0 or not log)
        ]
        if values:
            ends.append(((_place(values[-1], quantity.axis) - low) / (high - low) * room, number))
    ends.sort()
    placed = _apart([end for end, _ in ends], room)
    return [
        (_swatch(looks[number].colour, place / room), _name(names[number], place / room))
        for place, (_, number) in zip(placed, ends, strict=True)
    ]


def _swatch(colour: str, y: float) -> dict[str, Any]:
    left, right = _SWATCH_PX
    return {
        "type": "line",
        "xref": "paper",
        "xsizemode": "pixel",
        "xanchor": 1,
        "x0": left,
        "x1": right,
        "yref": "paper",
        "y0": round(y, 4),
        "y1": round(y, 4),
        "line": {"color": colour, "width": 3},
    }


def _name(text: str, y: float) -> dict[str, Any]:
    return {
        **_label(plot_text(text), "@ink"),
        "xref": "paper",
        "x": 1,
        "xanchor": "left",
        "xshift": _SWATCH_PX[1] + 4,
        "yref": "paper",
        "y": round(y, 4),
        "yanchor": "middle",
    }


def _apart(places: Sequence[float], room: float) -> list[float]:
    """Return ascending positions with minimal moves, so that they are one line of text apart and inside the room."""
    gap = min(_FONT_PX + 3.0, room / max(1, len(places)))
    # Neighbors that touch form a block around the mean of their wanted positions.
    blocks: list[list[float]] = []
    for place in places:
        blocks.append([place])
        while len(blocks) > 1 and _first(blocks[-1], gap, room) < _first(blocks[-2], gap, room) + gap * len(
            blocks[-2]
        ):
            last = blocks.pop()
            blocks[-1] += last
    return [_first(block, gap, room) + gap * i for block in blocks for i in range(len(block))]


def _first(block: Sequence[float], gap: float, room: float) -> float:
    """Return the lowest position in a block."""
    length = gap * (len(block) - 1)
    middle = sum(block) / len(block)
    return min(max(0.0, middle - length / 2), room - length)


def _label(text: str, colour: str) -> dict[str, Any]:
    return {"text": text, "showarrow": False, "font": {"size": _FONT_PX, "color": colour}, "borderpad": 0}
