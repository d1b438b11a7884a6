"""Figures over the heap size: one line per collector, for any metric."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from regatta.figures.axes import Figure, Trace, axis, layout, value_axis
from regatta.figures.curves import Point, above_zero, curve, segment
from regatta.figures.looks import Look
from regatta.figures.text import Scale, finite

_HEIGHT_PX = 320
#: A sweep of many heaps needs height to separate its lines.
_TALL_PX, _TALL_FROM = 440, 8
#: With few heap settings, bars are offset by this share of the gap between two settings.
_DODGE = 0.025
#: Room of a shared linear axis at both ends, as a share of the range of values.
_ROOM = 0.05
#: Up to this number of settings, each has a tick label.
_NAMED = 6


@dataclass(frozen=True)
class HeapLine:
    """A collector: `points` with the heap as x, ascending."""

    look: Look
    points: Sequence[Point]


def over_heap(
    title: str, lines: Sequence[HeapLine], factors: bool, y_title: str, scale: Scale, *, one: bool = False
) -> Figure:
    """Draw lines over the heap.

    Args:
        title: of the figure.
        lines: in drawing order.
        factors: the heap is in multiples of the minheap, else in MiB.
        y_title: of the axis of values.
        scale: of the values.
        one: values are ratios; draw a separate line at 1.
    """
    (figure,) = over_heap_together([(title, lines)], factors, y_title, scale, one=one)
    return figure


def over_heap_together(
    named: Sequence[tuple[str, Sequence[HeapLine]]],
    factors: bool,
    y_title: str,
    scale: Scale,
    *,
    one: bool = False,
) -> list[Figure]:
    """Draw one figure per title and its lines, with the same axis of values. For the other arguments, see `over_heap`."""
    shown = above_zero([line.points for _, lines in named for line in lines])
    values = finite(v * scale.factor for points in shown for p in points for v in (p.y, p.low, p.high))
    y = value_axis(y_title, [*values, 1.0] if one else values)
    if len(named) > 1 and values and "type" not in y:
        room = _ROOM * (max(values) - min(values))
        y["range"] = [min(values) - room, max(values) + room]
    rest = iter(shown)
    return [
        _figure(title, [replace(line, points=next(rest)) for line in lines], factors, deepcopy(y), scale, one)
        for title, lines in named
    ]


def _figure(
    title: str, lines: Sequence[HeapLine], factors: bool, y: dict[str, Any], scale: Scale, one: bool
) -> Figure:
    heaps = sorted({point.x for line in lines for point in line.points})
    gap = min((b - a for a, b in pairwise(heaps)), default=1.0)
    bands: list[Trace] = []
    tops: list[Trace] = []
    for number, line in enumerate(lines):
        shift = (number - (len(lines) - 1) / 2) * _DODGE * gap if len(line.points) < 4 else 0.0
        moved = [replace(point, x=point.x + shift) for point in line.points]
        # Inside a figure hue alone distinguishes the lines, so marks stay but dashes would only distract.
        *under, top = curve(moved, Look(line.look.colour, line.look.mark, "solid"), scale)
        if len(heaps) >= _TALL_FROM:
            top["marker"]["size"] = 5
        bands += under
        tops.append(top)
    x_title = "heap (multiple of minheap)" if factors else "heap (MiB)"
    ticks = {"tickvals": heaps, "ticktext": [f"{heap:g}" for heap in heaps]} if len(heaps) <= _NAMED else {}
    height = _TALL_PX if len(heaps) >= _TALL_FROM else _HEIGHT_PX
    if one:
        bands.insert(0, segment([heaps[0], heaps[-1]], [1, 1], "@muted", dash="dash"))
    return Figure(title, height, bands + tops, layout(axis(x_title, **ticks), y))
