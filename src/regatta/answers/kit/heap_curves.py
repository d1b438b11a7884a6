"""Draw time over heap size: one line per collector, one small figure per benchmark and runtime."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import Panel, cell_hover, parameters_but
from regatta.answers.spine.groups import grouped
from regatta.answers.spine.parts import Place
from regatta.answers.spine.result import CellAnswer
from regatta.figures.axes import Group
from regatta.figures.curves import Point
from regatta.figures.over_heap import HeapLine, over_heap_together
from regatta.figures.text import Scale, estimate_texts, joined


def heap_groups(panels: Sequence[Panel], looks: Looks) -> list[Group]:
    """Return one group per panel in which some configuration ran at two or more heap settings.

    The title of a figure names everything but the collector, and the legend of a group names the collectors. The figures of a group
    have the same axis of values.
    """
    groups = []
    for panel in panels:
        if panel.series_parameter:
            continue
        factors = _factors(panel)
        named = [
            (name, _lines(cells, panel, looks))
            for name, cells in _by_runtime(panel).items()
            if len({heap_of(cell.place, factors) for cell in cells if math.isfinite(cell.estimate.point)}) > 1
        ]
        if named:
            figures = over_heap_together(named, factors, panel.axis, panel.scale)
            groups.append(Group(panel.title, figures, looks.legend_of_collectors(panel.cells)))
    return groups


def _by_runtime(panel: Panel) -> dict[str, list[CellAnswer]]:
    groups: dict[str, list[CellAnswer]] = {}
    for cell in panel.cells:
        if cell.place.heap.factor is None and cell.place.heap.mib is None:
            continue
        parts = (
            cell.place.runtime,
            cell.place.modifiers if cell.place.modifiers != "none" else "",
            parameters_but(cell, panel.varying),
        )
        groups.setdefault(joined(*parts), []).append(cell)
    return groups


def _lines(cells: list[CellAnswer], panel: Panel, looks: Looks) -> list[HeapLine]:
    lines = grouped(cells, lambda cell: cell.place.collector)
    factors = _factors(panel)
    drawn = []
    for line in lines.values():
        line.sort(key=lambda cell: heap_of(cell.place, factors))
        points = [heap_point(cell, factors, panel.scale) for cell in line]
        drawn.append(HeapLine(looks.of_collector(line[0]), points))
    return drawn


def heap_point(cell: CellAnswer, factors: bool, scale: Scale) -> Point:
    """Return the mean of a cell at its heap."""
    estimate = cell.estimate
    text = cell_hover(cell, *estimate_texts(estimate, scale))
    return Point(heap_of(cell.place, factors), estimate.point, estimate.low, estimate.high, text)


def heap_of(place: Place, factors: bool) -> float:
    """Return the position of a heap on the axis: its factor, or its size in MiB; 0 without one."""
    heap = place.heap
    return float((heap.factor if factors or heap.mib is None else heap.mib) or 0.0)


def _factors(panel: Panel) -> bool:
    return all(cell.place.heap.factor is not None for cell in panel.cells)
