"""Describe collectors: lower-bound overhead, pauses, allocation stalls, and latency of requests."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from regatta.answers.spine.names import Names
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.samples import PlannedCell, Samples
from regatta.answers.spine.words import how_much, listed, sample_words
from regatta.answers.topics.collectors.compute import Overhead, Overheads, Resource, collector_groups
from regatta.figures.text import show_quantity
from regatta.host.values.experiment import Heap, Scalar
from regatta.stats.estimate import Interval

#: target heap factor of the sentences; the tables cover all heaps
_USUAL_FACTOR = 2.0
_COST = {"wall": "time", "cpu": "CPU time"}
#: window and percentile of the sentences; figures show the others
_WINDOW, _PERCENTILE = "100 ms", 99.0

Key = tuple[str, str]
_Wanted = Callable[[CellAnswer], bool]


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
        answers: estimates of the same cells; their `gc_pause`, `gc_stall` and `latency` percentiles are described.
        names: names for the sentences.
    """
    series: dict[Key, list[CellAnswer]] = {}
    for answer in answers:
        if answer.metric in ("gc_pause", "gc_stall", "latency"):
            series.setdefault((answer.place.host, answer.cell_id), []).append(answer)
    by_key = {(one.place.host, one.cell_id, one.resource): one for one in overheads.overheads}
    sources = _Sources(by_key, series, names)
    sentences: list[str] = []
    for cells in collector_groups(samples.cells):
        by_heap: dict[Heap, list[PlannedCell]] = {}
        for cell in cells:
            by_heap.setdefault(cell.place.heap.asked, []).append(cell)
        usual = by_heap[_usual(sorted(by_heap, key=lambda heap: (heap.factor is None, heap.order)))]
        sentences += [
            _overhead_words(usual, "wall", sources),
            _overhead_words(usual, "cpu", sources),
            _wait_words(usual, sources, "gc_pause", "GC pauses"),
            _wait_words(usual, sources, "gc_stall", "allocation stalls"),
            _latency_words(usual, sources),
        ]
    return tuple(sentence for sentence in sentences if sentence)


def _usual(heaps: Sequence[Heap]) -> Heap:
    factors = [(abs(heap.factor - _USUAL_FACTOR), heap) for heap in heaps if heap.factor is not None]
    return min(factors, key=lambda pair: pair[0])[1] if factors else heaps[len(heaps) // 2]


def _overhead_words(cells: Sequence[PlannedCell], resource: Resource, sources: _Sources) -> str:
    """Describe the lower-bound overhead of each collector in one resource, smallest first; "" if none is significant."""
    found = [sources.overheads.get((cell.place.host, cell.cell_id, resource)) for cell in cells]
    known = [(c, o.ratio) for c, o in zip(cells, found, strict=True) if o and math.isfinite(o.ratio.low)]
    shown = sorted((pair for pair in known if pair[1].low > 1.0), key=lambda pair: pair[1].point)
    hidden = [cell.place.collector for cell, ratio in known if ratio.low <= 1.0]
    if not shown:
        return ""
    parts = ", ".join(f"{cell.place.collector} {how_much(ratio)}" for cell, ratio in shown)
    sample = sample_words(shown[0][1].n, "invocation")
    rest = f"; not significant, but not excluded: {listed(hidden)}" if hidden else ""
    return f"{_where(cells, sources)}: lower-bound GC overhead ({_COST[resource]}): {parts} {sample}{rest}"


def _wait_words(cells: Sequence[PlannedCell], sources: _Sources, metric: str, what: str) -> str:
    parts = _both(cells, sources, _wait_at(metric, 50.0), _wait_at(metric, 100.0))
    return f"{_where(cells, sources)}: {what} (median, longest per iteration): {parts}" if parts else ""


def _latency_words(cells: Sequence[PlannedCell], sources: _Sources) -> str:
    parts = _both(cells, sources, _latency_at("metered", _WINDOW), _latency_at("simple", ""))
    what = f"latency, {_PERCENTILE:g}th percentile (metered over {_WINDOW}, simple)"
    return f"{_where(cells, sources)}: {what}: {parts}" if parts else ""


def _where(cells: Sequence[PlannedCell], sources: _Sources) -> str:
    return sources.names.where(cells[0], {}, ("collector",))


def _both(cells: Sequence[PlannedCell], sources: _Sources, first: _Wanted, second: _Wanted) -> str:
    """Return `serial 2 ms, 20 ms; g1 600 µs, 6 ms`: two values of each collector that has both."""
    found = [(cell, _estimate(cell, sources, first), _estimate(cell, sources, second)) for cell in cells]
    return "; ".join(f"{cell.place.collector} {_time(a)}, {_time(b)}" for cell, a, b in found if a and b)


def _wait_at(metric: str, percentile: float) -> _Wanted:
    return lambda one: one.metric == metric and _parameters(one) == {"percentile": percentile}


def _latency_at(kind: str, window: str) -> _Wanted:
    wanted = {"kind": kind, "percentile": _PERCENTILE} | ({"window": window} if window else {})
    return lambda one: one.metric == "latency" and _parameters(one) == wanted


def _parameters(one: CellAnswer) -> dict[str, Scalar]:
    """Return its parameters; if first and later iterations are separate, those of the later ones."""
    return {name: value for name, value in one.parameters.items() if (name, value) != ("phase", "stable")}


def _estimate(cell: PlannedCell, sources: _Sources, wanted: _Wanted) -> tuple[Interval, str] | None:
    for one in sources.series.get((cell.place.host, cell.cell_id), ()):
        if wanted(one) and math.isfinite(one.estimate.point):
            return one.estimate, one.unit
    return None


def _time(found: tuple[Interval, str]) -> str:
    estimate, unit = found
    return show_quantity(estimate.point, unit)
