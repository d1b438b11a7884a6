"""What the analysis answers, as points: estimates, and the vectors of systems.

All points of an answer have one time: that of the newest record which it rests on. The same journal gives the same points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from regatta.answers.result import Answer, CellAnswer, Comparison
from regatta.answers.topics.aa.result import Gate
from regatta.answers.topics.aa.topic import AA
from regatta.answers.topics.collectors.result import Overhead
from regatta.answers.topics.collectors.topic import COLLECTORS
from regatta.answers.topics.hosts.result import HostComparison
from regatta.answers.topics.hosts.topic import HOSTS
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.cell import NO_MODIFIERS, cell_label, heap_text
from regatta.influx.points import ESTIMATE, VECTOR, Point, apart, make_point
from regatta.stats.estimate import Interval
from regatta.store.columns import canonical_json

#: kinds of estimates
MEAN, RATIO, OVERHEAD, DRIFT = "mean", "ratio", "overhead", "drift"
#: what an overhead is over, and what a drift is against
DISTILLED, ITSELF = "distilled", "itself"
#: the metric of the share of false alarms among the short intervals of an A/A test
FALSE_ALARMS = "false_alarms"
#: the kind of a vector that holds the cost of each primitive on a system
SYSTEM = "system"
#: those of how often an application uses each, and of what that takes (`regatta predict --ingest`)
APPLICATION, PREDICTION = "application", "prediction"
#: whose programs measure primitives, and the size that needs no name
_PRIMITIVES, _USUAL_SIZE = "lm", "default"

#: host, platform, benchmark, runtime, collector, modifiers
Place = tuple[str, str, str, str, str, str]


def estimate_points(answer: Answer, as_of_ns: int) -> Iterator[Point]:
    """Means, ratios to the baseline, lower bounds of what collectors cost, and the drift that an A/A test has found.

    Args:
        answer: of one experiment.
        as_of_ns: when its newest record began, UTC.
    """
    return apart(_estimates(answer, as_of_ns))


def _estimates(answer: Answer, time_ns: int) -> Iterator[Point]:
    cells: dict[tuple[str, str], CellAnswer] = {}
    for cell in answer.cells:
        # The metric that is compared comes first.
        cells.setdefault((cell.host, cell.cell_id), cell)
    make = _Maker(answer, time_ns)
    yield from map(make.mean, answer.cells)
    for comparison in answer.comparisons:
        yield make.ratio(comparison, cells[comparison.host, comparison.a])
    over = HOSTS.of(answer)
    if len(over.hosts) > 1:
        by_name = {(c.platform, c.benchmark, c.configuration, *_heap(c)): c for c in answer.cells}
        for one in over.comparisons:
            of = by_name.get((one.platform, one.benchmark, one.a_name, *_heap(one)))
            if of is not None:
                yield make.ratio_over_hosts(one, of)
    for overhead in COLLECTORS.of(answer).overheads:
        yield make.overhead(overhead, cells[overhead.host, overhead.cell_id])
    for gate in AA.of(answer):
        yield from make.drifts(gate, answer.cells)


class _Maker:
    """Points of one answer at one time."""

    def __init__(self, answer: Answer, time_ns: int) -> None:
        self._answer = answer
        self._time_ns = time_ns

    def _point(
        self,
        place: Place,
        heap: tuple[float | None, int | None],
        series: tuple[str, str, Mapping[str, Any]],
        kind: tuple[str, str],
        estimate: Interval,
        **more: Any,
    ) -> Point:
        metric, unit, parameters = series
        tags = (
            self._answer.experiment, *place, heap_text(*heap), metric, unit, canonical_json(dict(parameters)), *kind,
        )  # fmt: skip
        fields = {
            "theta_percent": self._answer.theta_percent, "heap_factor": heap[0], "heap_mib": heap[1],
            **_interval(estimate), **more,
        }  # fmt: skip
        return make_point(ESTIMATE, tags, fields, self._time_ns)

    def mean(self, cell: CellAnswer) -> Point:
        """The mean of a series."""
        return self._point(
            _place(cell),
            (cell.heap_factor, cell.heap_mib),
            (cell.metric, cell.unit, cell.parameters),
            (MEAN, ""),
            cell.estimate,
            better=cell.better,
            label=_label(cell),
        )

    def ratio(self, comparison: Comparison, of: CellAnswer) -> Point:
        """An alternative over its baseline."""
        return self._point(
            _place(of),
            (comparison.heap_factor, comparison.heap_mib),
            (comparison.metric, "ratio", comparison.parameters),
            (RATIO, comparison.b_name),
            comparison.ratio,
            better=of.better,
            practical=comparison.practical,
            label=f"{_label(of)} / {comparison.b_name}",
            p=comparison.p,
            p_holm=comparison.p_holm,
        )

    def ratio_over_hosts(self, comparison: HostComparison, of: CellAnswer) -> Point:
        """The same over all hosts of a platform: of no single host."""
        return self._point(
            ("", *_place(of)[1:]),
            (comparison.heap_factor, comparison.heap_mib),
            (comparison.metric, "ratio", comparison.parameters),
            (RATIO, comparison.b_name),
            comparison.ratio,
            better=comparison.better,
            practical=comparison.practical,
            label=f"{_label_over_hosts(comparison, of)} / {comparison.b_name}",
            p=comparison.p,
        )

    def overhead(self, overhead: Overhead, of: CellAnswer) -> Point:
        """What a collector costs at least; the metric is the resource: `wall` or `cpu`."""
        return self._point(
            _place(of),
            (overhead.heap_factor, overhead.heap_mib),
            (overhead.resource, "ratio", {}),
            (OVERHEAD, DISTILLED),
            overhead.ratio,
            better="lower",
            label=_label(of),
        )

    def drifts(self, gate: Gate, cells: Iterable[CellAnswer]) -> Iterator[Point]:
        """A host against itself: each cell over its twin, and the share of false alarms among short intervals."""
        by_name = {
            (c.benchmark, c.configuration, c.heap_factor, c.heap_mib): c for c in cells if c.host == gate.host
        }
        platform = next((c.platform for c in by_name.values()), "")
        for pair in gate.pairs:
            cell = by_name.get((pair.benchmark, pair.configuration, pair.heap_factor, pair.heap_mib))
            yield self._point(
                _place(cell) if cell else (gate.host, platform, pair.benchmark, pair.configuration, "", ""),
                (pair.heap_factor, pair.heap_mib),
                (pair.metric, "ratio", {}),
                (DRIFT, ITSELF),
                pair.ratio,
                label=f"{pair.benchmark} · {pair.configuration}",
                p=pair.p,
            )
        yield self._point(
            (gate.host, platform, "", "", "", ""),
            (None, None),
            (FALSE_ALARMS, "ratio", {}),
            (DRIFT, ITSELF),
            gate.alarm_rate,
            better="lower",
            practical={None: "open", True: "no", False: "yes"}[gate.holds],
            label=gate.words,
            p=gate.p,
        )


def vector_points(answer: Answer, as_of_ns: int) -> Iterator[Point]:
    """The system vector: what each primitive costs, one point for each set of its parameters."""
    return apart(_vectors(answer, as_of_ns))


def _vectors(answer: Answer, time_ns: int) -> Iterator[Point]:
    metrics: dict[tuple[str, str], str] = {}
    for cell in answer.cells:
        parts = parts_of_label(cell.benchmark)
        metric = metrics.setdefault((cell.host, cell.cell_id), cell.metric)
        if parts.suite != _PRIMITIVES or cell.metric != metric:
            continue
        # Told apart as well by what the spec chose and by its modifiers.
        parameters = {**parts.chosen, **cell.parameters}
        if cell.modifiers not in ("", NO_MODIFIERS):
            parameters["modifiers"] = cell.modifiers
        name = parts.name if parts.size in ("", _USUAL_SIZE) else f"{parts.name}:{parts.size}"
        tags = (
            answer.experiment, cell.host, cell.platform, cell.runtime, SYSTEM, name, canonical_json(parameters), cell.unit,
            "", "",
        )  # fmt: skip
        yield make_point(VECTOR, tags, {**_interval(cell.estimate), "value": cell.estimate.point}, time_ns)


def _interval(estimate: Interval) -> dict[str, Any]:
    return {
        "n": estimate.n, "point": estimate.point, "low": estimate.low, "high": estimate.high,
        "level": estimate.level, "method": estimate.method, "reason": estimate.reason,
    }  # fmt: skip


def _heap(of: CellAnswer | HostComparison) -> tuple[float | None, int | None]:
    """What the spec asks for: under a factor, hosts may have different sizes."""
    return of.heap_factor, None if of.heap_factor is not None else of.heap_mib


def _place(cell: CellAnswer) -> Place:
    return cell.host, cell.platform, cell.benchmark, cell.runtime, cell.collector, cell.modifiers


def _label(cell: CellAnswer) -> str:
    return cell_label(
        cell.benchmark, cell.runtime, cell.collector, cell.modifiers, cell.heap_factor, cell.heap_mib
    )


def _label_over_hosts(comparison: HostComparison, of: CellAnswer) -> str:
    if comparison.heap_mib is not None or comparison.heap_factor is None:
        return _label(of)
    # The size of one host is not that of the others.
    whole = cell_label(of.benchmark, of.runtime, of.collector, of.modifiers, None, None)
    return f"{whole} · {heap_text(comparison.heap_factor, None)}"
