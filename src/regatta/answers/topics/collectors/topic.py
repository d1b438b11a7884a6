"""The topic of collectors: lower-bound overhead, pauses and allocation stalls."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from regatta.answers.kit.heap_curves import heap_of
from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import PERCENTILE, Panel
from regatta.answers.kit.percentiles import (
    WAITS,
    percentile_figure,
    percentile_over_heap,
    usual_heap,
    variants,
)
from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.groups import grouped
from regatta.answers.spine.names import Names
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.samples import PlannedCell, Samples
from regatta.answers.spine.words import how_much, listed, sample_words
from regatta.answers.topics.collectors.compute import (
    RESOURCES,
    Overhead,
    Overheads,
    Resource,
    collector_groups,
    judge_overheads,
)
from regatta.figures.axes import Figure, Group
from regatta.figures.curves import Point
from regatta.figures.over_heap import HeapLine, over_heap
from regatta.figures.section import Section, Table
from regatta.figures.text import (
    ABSENT,
    Scale,
    hover,
    joined,
    show_ends,
    show_heap,
    show_percent,
    show_quantity,
    show_ratio,
)
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
        answers: estimates of the same cells; their `gc_pause`, `gc_stall` and `latency` percentiles are described.
    """
    series = grouped(
        (answer for answer in answers if answer.metric in ("gc_pause", "gc_stall", "latency")),
        lambda answer: (answer.place.host, answer.cell_id),
    )
    by_key = {(one.place.host, one.cell_id, one.resource): one for one in overheads.overheads}
    sources = _Sources(by_key, series, names)
    sentences: list[str] = []
    for cells in collector_groups(samples.cells):
        by_heap = grouped(cells, lambda cell: cell.place.heap.asked)
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


_RATIO = Scale(1.0, "", 3)
_NAMES: dict[Resource, str] = {"wall": "time", "cpu": "CPU time"}

_Cells = Mapping[tuple[str, str], CellAnswer]


def collectors_section(found: Overheads, view: View) -> Section | None:
    """Return lower-bound overheads, pauses and stalls; None if no program reports its pauses."""
    cells: dict[tuple[str, str], CellAnswer] = {}
    for cell in view.answer.cells:
        cells.setdefault((cell.place.host, cell.cell_id), cell)
    waits = [panel for panel in view.panels if panel.metric in WAITS and panel.series_parameter == PERCENTILE]
    groups = [*_overhead_groups(found, cells, view.looks), *_wait_groups(waits, view.looks)]
    if not groups and not found.overheads:
        return None
    return Section(
        "collectors",
        words="Total cost / distilled cost: a lower bound of the cost of a collector. The distilled cost is the smallest mean cost of "
        "the benchmark on this runtime, over collectors and heaps, without pauses. For CPU time, one thread's time during pauses is "
        f"subtracted. Bars or bands are {show_percent(view.answer.level)} intervals. A pause stops all threads. In an "
        "allocation stall, one thread waits for memory during concurrent collection: stalls are part of the overhead, but not of the "
        "pauses, and have figures of their own if the log has them. Shenandoah logs none while it paces the program.",
        groups=groups,
    )


def _overhead_groups(overheads: Overheads, cells: _Cells, looks: Looks) -> list[Group]:
    """Return one group per benchmark and host, with one figure per runtime with modifiers, and resource."""
    hosts = {one.place.host for one in overheads.overheads}
    places: dict[tuple[str, str], dict[tuple[str, str, Resource], list[Overhead]]] = {}
    for one in overheads.overheads:
        figures = places.setdefault((one.place.benchmark, one.place.host), {})
        figures.setdefault((one.place.runtime, one.place.modifiers, one.resource), []).append(one)
    groups = []
    for (benchmark, host), found in places.items():
        several = len({key[:2] for key in found}) > 1
        drawn = [
            figure
            for (runtime, modifiers, resource), many in found.items()
            if (figure := _overhead_figure(_title(runtime, modifiers, resource, several), many, cells, looks))
        ]
        shown = [cells[one.place.host, one.cell_id] for many in found.values() for one in many]
        if drawn:
            parts = (benchmark, "lower-bound GC overhead", f"on {host}" if len(hosts) > 1 else "")
            groups.append(Group(joined(*parts), drawn, looks.legend_of_collectors(shown)))
    return groups


def _title(runtime: str, modifiers: str, resource: Resource, several: bool) -> str:
    parts = (runtime, modifiers if modifiers != "none" else "") if several else ()
    return joined(_NAMES[resource], *parts)


def _overhead_figure(title: str, overheads: Sequence[Overhead], cells: _Cells, looks: Looks) -> Figure | None:
    known = [
        one
        for one in overheads
        if math.isfinite(one.ratio.point)
        and (one.place.heap.factor is not None or one.place.heap.mib is not None)
    ]
    if not known:
        return None
    factors = all(one.place.heap.factor is not None for one in known)
    lines = grouped(known, lambda one: one.place.collector)
    drawn = []
    for collector, line in lines.items():
        line.sort(key=lambda one: heap_of(one.place, factors))
        points = [_point(one, collector, factors) for one in line]
        drawn.append(HeapLine(looks.of_collector(cells[line[0].place.host, line[0].cell_id]), points))
    return over_heap(title, drawn, factors, "total / distilled cost", _RATIO, one=True)


def _point(one: Overhead, collector: str, factors: bool) -> Point:
    ratio = one.ratio
    ends = show_ends(ratio)
    text = hover(
        collector,
        f"heap {show_heap(one.place.heap)}",
        f"{show_ratio(ratio.point)} of the distilled cost, n = {ratio.n}",
        f"{show_percent(ratio.level)} CI {ends}" if ends else ratio.reason,
    )
    return Point(heap_of(one.place, factors), ratio.point, ratio.low, ratio.high, text)


def _wait_groups(panels: Sequence[Panel], looks: Looks) -> list[Group]:
    groups = []
    for panel in panels:
        wait = WAITS[panel.metric]
        figures: list[Figure | None] = []
        for name, cells in variants(panel).items():
            at_usual = usual_heap(cells)
            figures += [
                percentile_over_heap(f"median {wait} {name}".strip(), cells, 50.0, panel, looks),
                percentile_over_heap(
                    f"longest {wait} per iteration {name}".strip(), cells, 100.0, panel, looks
                ),
            ]
            if not any(figures):
                figures.append(percentile_figure(f"{wait}s {name}".strip(), at_usual, panel, looks))
        drawn = [figure for figure in figures if figure is not None]
        if drawn:
            groups.append(Group(panel.title, drawn, looks.legend(panel.cells)))
    return groups


def collectors_tables(overheads: Overheads, view: View) -> list[Table]:
    """Return one table per benchmark: overhead of elapsed time and of processor time."""
    ci = f"{show_percent(view.answer.level)} CI"
    columns = ("host", "runtime", "heap", "collector", "n", "time ratio", ci, "CPU time ratio", ci)
    found: dict[tuple[str, str, str], dict[Resource, Overhead]] = {}
    for one in overheads.overheads:
        found.setdefault((one.place.benchmark, one.place.host, one.cell_id), {})[one.resource] = one
    by_benchmark: dict[str, list[dict[Resource, Overhead]]] = {}
    for (benchmark, _, _), pair in found.items():
        by_benchmark.setdefault(benchmark, []).append(pair)
    tables = []
    for benchmark, pairs in by_benchmark.items():
        pairs.sort(key=lambda pair: _order(next(iter(pair.values()))))
        rows = [_row(pair) for pair in pairs]
        tables.append(Table(f"{benchmark}, total / distilled cost", columns, rows, frozenset({4, 5, 7})))
    return tables


def _order(one: Overhead) -> tuple[str, str, str, tuple[float, float]]:
    return one.place.host, one.place.runtime, one.place.modifiers, one.place.heap.order


def _row(pair: Mapping[Resource, Overhead]) -> tuple[str, ...]:
    one = next(iter(pair.values()))
    runtime = (
        one.place.runtime if one.place.modifiers == "none" else f"{one.place.runtime} {one.place.modifiers}"
    )
    texts = [
        text for resource in RESOURCES for text in _texts(pair[resource].ratio if resource in pair else None)
    ]
    return (one.place.host, runtime, show_heap(one.place.heap), one.place.collector, str(one.ratio.n), *texts)


def _texts(ratio: Interval | None) -> tuple[str, str]:
    if ratio is None or not math.isfinite(ratio.point):
        return ABSENT, ratio.reason if ratio else ""
    ends = show_ends(ratio)
    if ends and ratio.reason:
        return show_ratio(ratio.point), f"{ends}, {ratio.reason}"
    return show_ratio(ratio.point), ends or ratio.reason


COLLECTORS: Topic[Overheads] = Topic(
    "collectors",
    title="GC overhead",
    empty=Overheads(),
    compute=judge_overheads,
    words=Words(
        80,
        "Collectors",
        lambda found, context: collector_words(found, context.samples, context.cells, context.names),
    ),
    document=Document(70, "overheads"),
    section=collectors_section,
    tables=collectors_tables,
    terminal=True,
    board="regatta-collectors",
)
