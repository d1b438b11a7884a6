"""Time against heap size: what room costs and buys, one line a collector, one small figure a benchmark and runtime."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from regatta.model.answer import CellAnswer
from regatta.report.axes import Figure, Group, Trace, axis, layout, value_axis
from regatta.report.curves import Point, curve
from regatta.report.labels import cell_hover
from regatta.report.looks import Look, Looks
from regatta.report.panels import Panel, parameters_but
from regatta.report.quantities import finite, interval, show_percent

_HEIGHT_PX = 320
#: Few heap settings are drawn with bars, which are set apart by this share of the gap between two settings.
_DODGE = 0.025


def heap_groups(panels: Sequence[Panel], looks: Looks) -> list[Group]:
    """One group a panel in which some configuration ran at two heap settings or more."""
    groups = []
    for panel in panels:
        if panel.series_parameter:
            continue
        figures = [
            _figure(name, cells, panel, looks)
            for name, cells in _by_runtime(panel).items()
            if len({_heap(cell, panel) for cell in cells if math.isfinite(cell.estimate.point)}) > 1
        ]
        if figures:
            groups.append(Group(panel.title, figures, looks.legend(panel.cells)))
    return groups


def _by_runtime(panel: Panel) -> dict[str, list[CellAnswer]]:
    groups: dict[str, list[CellAnswer]] = {}
    for cell in panel.cells:
        if cell.heap_factor is None and cell.heap_mib is None:
            continue
        parts = (
            cell.runtime,
            cell.modifiers if cell.modifiers != "none" else "",
            parameters_but(cell, panel.varying),
        )
        groups.setdefault(" · ".join(part for part in parts if part), []).append(cell)
    return groups


def _figure(name: str, cells: list[CellAnswer], panel: Panel, looks: Looks) -> Figure:
    lines: dict[str, list[CellAnswer]] = {}
    for cell in cells:
        lines.setdefault(cell.collector, []).append(cell)
    heaps = sorted({_heap(cell, panel) for cell in cells})
    gap = min((b - a for a, b in pairwise(heaps)), default=0.0)
    bands: list[Trace] = []
    tops: list[Trace] = []
    for number, line in enumerate(lines.values()):
        line.sort(key=lambda cell: _heap(cell, panel))
        shift = (number - (len(lines) - 1) / 2) * _DODGE * gap if len(line) < 4 else 0.0
        *under, top = curve(
            [_point(cell, panel, shift) for cell in line], _plain(looks.of(line[0])), panel.scale
        )
        bands += under
        tops.append(top)
    values = finite(
        v * panel.scale.factor for c in cells for v in (c.estimate.point, c.estimate.low, c.estimate.high)
    )
    unit = "heap, multiple of the least heap" if _factors(panel) else "heap (MiB)"
    ticks = {"tickvals": heaps, "ticktext": [f"{heap:g}" for heap in heaps]} if len(heaps) <= 6 else {}
    return Figure(name, _HEIGHT_PX, bands + tops, layout(axis(unit, **ticks), value_axis(panel.axis, values)))


def _point(cell: CellAnswer, panel: Panel, shift: float) -> Point:
    estimate, scale = cell.estimate, panel.scale
    ends = interval(scale.show(estimate.low), scale.show(estimate.high))
    text = cell_hover(
        cell,
        f"mean {scale.with_unit(estimate.point)}, n {estimate.n}",
        f"{show_percent(estimate.level)} interval {ends} {scale.unit}" if ends else estimate.reason,
    )
    return Point(_heap(cell, panel) + shift, estimate.point, estimate.low, estimate.high, text)


def _plain(look: Look) -> Look:
    """Inside one runtime hue alone tells the lines apart; the mark is kept, the dash would only disturb."""
    return Look(look.colour, look.mark, "solid")


def _factors(panel: Panel) -> bool:
    return all(cell.heap_factor is not None for cell in panel.cells)


def _heap(cell: CellAnswer, panel: Panel) -> float:
    if _factors(panel):
        return cell.heap_factor or 0.0
    return float(cell.heap_mib) if cell.heap_mib is not None else cell.heap_factor or 0.0
