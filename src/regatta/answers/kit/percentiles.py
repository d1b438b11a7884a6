"""Draw distributions by percentiles: pauses and latencies, from the median to the maximum, and over the heap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from regatta.answers.kit.heap_curves import heap_of, heap_point
from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import PERCENTILE, Panel, numeric
from regatta.answers.spine.groups import grouped
from regatta.answers.spine.result import CellAnswer
from regatta.figures.axes import Figure, axis, layout, value_axis
from regatta.figures.curves import Point, above_zero, curve
from regatta.figures.over_heap import HeapLine, over_heap
from regatta.figures.text import finite

#: metrics of the collector with percentiles -> their names in titles; other metrics with percentiles are of requests
WAITS = {"gc_pause": "pause", "gc_stall": "allocation stall"}
_HEIGHT_PX = 360
#: target heap factor if only one heap is shown
_USUAL_FACTOR = 2.0
#: distance of the maximum from the last percentile below 100, on an axis in nines
_BEYOND = 0.7
#: the kind of latency that is shown first
_FIRST = "simple"


def variants(panel: Panel) -> dict[str, list[CellAnswer]]:
    """Group the panel's cells by their other parameters (`kind metered, window 100 ms`); "" without any."""
    found: dict[str, list[CellAnswer]] = {}
    for cell in panel.cells:
        if numeric(cell.parameters, PERCENTILE) is not None:
            names = frozenset(cell.parameters) - {PERCENTILE}
            label = ", ".join(str(cell.parameters[name]) for name in sorted(names))
            found.setdefault(label, []).append(cell)
    return dict(sorted(found.items(), key=lambda item: item[0] != _FIRST))


def usual_heap(cells: Sequence[CellAnswer]) -> list[CellAnswer]:
    """Return the cells at one heap: the one closest to 2 x minheap, else the middle one."""
    heaps = sorted({cell.place.heap.asked.order for cell in cells})
    if not heaps:
        return []
    factors = [heap for heap in heaps if heap[0] > 0]
    chosen = (
        min(factors, key=lambda heap: abs(heap[0] - _USUAL_FACTOR)) if factors else heaps[len(heaps) // 2]
    )
    return [cell for cell in cells if cell.place.heap.asked.order == chosen]


def percentile_figure(
    title: str, cells: Sequence[CellAnswer], panel: Panel, looks: Looks, beside: Sequence[CellAnswer] = ()
) -> Figure | None:
    """Draw values over percentiles, one line per configuration. The axis range includes `beside`, so that figures compare."""
    lines = grouped((cell for cell in cells if math.isfinite(cell.estimate.point)), lambda cell: cell.cell_id)
    percents = sorted({_percent(cell) for line in lines.values() for cell in line})
    if len(percents) < 2:
        return None
    places = _places(percents)
    # The other figures share the axis, so they also determine whether it is logarithmic.
    own = [_points(line, places, panel) for line in lines.values()]
    *drawn, other = above_zero([*own, [heap_point(cell, True, panel.scale) for cell in beside]])
    bands, tops = [], []
    for line, points in zip(lines.values(), drawn, strict=True):
        *under, top = curve(points, looks.of(line[0]), panel.scale)
        bands += under
        tops.append(top)
    every = [point for points in (*drawn, other) for point in points]
    values = finite(v * panel.scale.factor for p in every for v in (p.y, p.low, p.high))
    texts = ["max" if percent == 100 else f"{percent:g} %" for percent in percents]
    x = axis("percentile", tickvals=[places[p] for p in percents], ticktext=texts)
    return Figure(title, _HEIGHT_PX, bands + tops, layout(x, value_axis(panel.axis, values)))


def percentile_over_heap(
    title: str, cells: Sequence[CellAnswer], percent: float, panel: Panel, looks: Looks
) -> Figure | None:
    """Draw one percentile over the heap, one line per configuration; None with fewer than two heaps."""
    chosen = [c for c in cells if _percent(c) == percent and math.isfinite(c.estimate.point)]
    chosen = [c for c in chosen if c.place.heap.factor is not None or c.place.heap.mib is not None]
    factors = all(cell.place.heap.factor is not None for cell in chosen)
    if len({heap_of(cell.place, factors) for cell in chosen}) < 2:
        return None
    lines = grouped(chosen, lambda cell: cell.place.configuration)
    drawn = []
    for line in lines.values():
        line.sort(key=lambda cell: heap_of(cell.place, factors))
        points = [heap_point(cell, factors, panel.scale) for cell in line]
        drawn.append(HeapLine(looks.of(line[0]), points))
    return over_heap(title, drawn, factors, panel.axis, panel.scale)


def _points(line: list[CellAnswer], places: dict[float, float], panel: Panel) -> list[Point]:
    line.sort(key=_percent)
    return [replace(heap_point(cell, True, panel.scale), x=places[_percent(cell)]) for cell in line]


def _percent(cell: CellAnswer) -> float:
    value = numeric(cell.parameters, PERCENTILE)
    return math.nan if value is None else value


def _places(percents: Sequence[float]) -> dict[float, float]:
    """Place percentiles on an axis in nines: 90, 99 and 99.9 % are one apart."""
    below = {p: -math.log10(1 - p / 100) for p in percents if 0 <= p < 100}
    return below | {p: max(below.values(), default=0.0) + _BEYOND for p in percents if p >= 100}
