"""Describe collectors: lower-bound overhead, pauses, and latency of requests."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from regatta.answers.names import Names
from regatta.answers.result import CellAnswer
from regatta.answers.samples import PlannedCell, Samples
from regatta.answers.topics.collectors.compute import Overhead, Overheads, Resource, collector_groups
from regatta.answers.words import counted, how_much, listed
from regatta.figures.text import show_quantity
from regatta.host.values.experiment import Heap, Scalar
from regatta.stats.estimate import Interval

#: with more heaps, sentences cover only the smallest, a middle one and the largest
_FEW_HEAPS = 3
#: target heap factor of sentences about a single heap
_USUAL_FACTOR = 2.0
_COST = {"wall": "time", "cpu": "processor time"}
#: window and percentile of the sentences; figures show the others
_WINDOW, _PERCENTILE = "100 ms", 99.0

Key = tuple[str, str]


@dataclass(frozen=True)
class _Sources:
    """Lookup tables for sentences, by host and cell id."""

    overheads: Mapping[tuple[str, str, Resource], Overhead]
    series: Mapping[Key, list[CellAnswer]]
    names: Names


def collector_words(
    overheads: Overheads, samples: Samples, answers: Sequence[CellAnswer], names: Names
) -> tuple[str, ...]:
    """Describe the collectors of each benchmark, host, runtime and modifiers, in plan order.

    Args:
        overheads: see `regatta.answers.topics.collectors.compute`.
        samples: samples of the experiment, for the names of cells.
        answers: estimates of the same cells; their `gc_pause` and `latency` percentiles are described.
        names: names for the sentences.
    """
    series: dict[Key, list[CellAnswer]] = {}
    for answer in answers:
        if answer.metric in ("gc_pause", "latency"):
            series.setdefault((answer.place.host, answer.cell_id), []).append(answer)
    by_key = {(one.place.host, one.cell_id, one.resource): one for one in overheads.overheads}
    told = _Sources(by_key, series, names)
    sentences: list[str] = []
    for cells in collector_groups(samples.cells):
        by_heap: dict[Heap, list[PlannedCell]] = {}
        for cell in cells:
            by_heap.setdefault(cell.place.heap.asked, []).append(cell)
        heaps = sorted(by_heap, key=lambda heap: (heap.factor is None, heap.order))
        usual = by_heap[_usual(heaps)]
        sentences += [_overhead_words(by_heap[heap], "wall", told) for heap in _spoken(heaps)]
        sentences += [
            _overhead_words(usual, "cpu", told),
            _pause_words(usual, told),
            _latency_words(usual, told),
        ]
    return tuple(sentence for sentence in sentences if sentence)


def _spoken(heaps: Sequence[Heap]) -> list[Heap]:
    if len(heaps) <= _FEW_HEAPS:
        return list(heaps)
    return list(dict.fromkeys((heaps[0], _usual(heaps), heaps[-1])))


def _usual(heaps: Sequence[Heap]) -> Heap:
    factors = [(abs(heap.factor - _USUAL_FACTOR), heap) for heap in heaps if heap.factor is not None]
    return min(factors, key=lambda pair: pair[0])[1] if factors else heaps[len(heaps) // 2]


def _place(cell: PlannedCell, names: Names) -> str:
    return names.place(cell, {}) + names.within(cell, ("collector",))


def _overhead_words(cells: Sequence[PlannedCell], resource: Resource, told: _Sources) -> str:
    """Describe the lower-bound overhead of each collector in one resource, smallest first; "" if none is significant."""
    found = [told.overheads.get((cell.place.host, cell.cell_id, resource)) for cell in cells]
    known = [(c, o.ratio) for c, o in zip(cells, found, strict=True) if o and math.isfinite(o.ratio.low)]
    shown = sorted((pair for pair in known if pair[1].low > 1.0), key=lambda pair: pair[1].point)
    hidden = [cell.place.collector for cell, ratio in known if ratio.low <= 1.0]
    if not shown:
        return ""
    parts = [f"{how_much(ratio)} with {cell.place.collector}" for cell, ratio in shown]
    rest = ""
    if hidden:
        rest = f"; none is shown with {listed(hidden)}, which does not mean that there is none"
    place, host = _place(cells[0], told.names), told.names.host(cells[0])
    return (
        f"over the cheapest distilled cost, the least that collecting adds to the {_COST[resource]} of {place}"
        f" is {listed(parts)}{rest}, {counted(shown[0][1].n, 'invocation')} each, on {host}"
    )


def _pause_words(cells: Sequence[PlannedCell], told: _Sources) -> str:
    parts = []
    for cell in cells:
        middle = _estimate(cell, told, _pause_at(50.0))
        worst = _estimate(cell, told, _pause_at(100.0))
        if middle and worst:
            parts.append(f"{cell.place.collector} {_time(middle)} and {_time(worst)}")
    if not parts:
        return ""
    return f"pauses on {_place(cells[0], told.names)}, the median and the longest of an iteration: {listed(parts)}"


def _latency_words(cells: Sequence[PlannedCell], told: _Sources) -> str:
    parts = []
    for cell in cells:
        simple = _estimate(cell, told, _latency_at("simple", ""))
        metered = _estimate(cell, told, _latency_at("metered", _WINDOW))
        if simple and metered:
            parts.append(f"{_time(metered)} with {cell.place.collector} (simple {_time(simple)})")
    if not parts:
        return ""
    return (
        f"{_PERCENTILE:g} % of the requests of {_place(cells[0], told.names)} are answered within a metered latency of"
        f" {listed(parts)}, metered over {_WINDOW}"
    )


def _pause_at(percentile: float) -> Callable[[CellAnswer], bool]:
    return lambda one: one.metric == "gc_pause" and _parameters(one) == {"percentile": percentile}


def _latency_at(kind: str, window: str) -> Callable[[CellAnswer], bool]:
    wanted = {"kind": kind, "percentile": _PERCENTILE} | ({"window": window} if window else {})
    return lambda one: one.metric == "latency" and _parameters(one) == wanted


def _parameters(one: CellAnswer) -> dict[str, Scalar]:
    """Return its parameters; if first and later iterations are separate, those of the later ones."""
    return {name: value for name, value in one.parameters.items() if (name, value) != ("phase", "stable")}


def _estimate(
    cell: PlannedCell, told: _Sources, wanted: Callable[[CellAnswer], bool]
) -> tuple[Interval, str] | None:
    for one in told.series.get((cell.place.host, cell.cell_id), ()):
        if wanted(one) and math.isfinite(one.estimate.point):
            return one.estimate, one.unit
    return None


def _time(found: tuple[Interval, str]) -> str:
    estimate, unit = found
    return show_quantity(estimate.point, unit)
