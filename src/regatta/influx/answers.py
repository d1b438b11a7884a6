"""Answers of the analysis as points: estimates and system vectors.

All points of an answer have one time: the start of the newest record that it is based on. The same journal gives the same
points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from regatta.answers.parts import Place
from regatta.answers.result import Answer, CellAnswer, Comparison
from regatta.answers.topics.aa.compute import Gate
from regatta.answers.topics.aa.topic import AA
from regatta.answers.topics.collectors.compute import Overhead
from regatta.answers.topics.collectors.topic import COLLECTORS
from regatta.answers.topics.hosts.result import HostComparison
from regatta.answers.topics.hosts.topic import HOSTS
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.cell import NO_MODIFIERS, cell_label, heap_text
from regatta.host.values.experiment import Heap
from regatta.influx.points import ESTIMATE, VECTOR, Point, apart, make_point
from regatta.stats.estimate import Interval
from regatta.store.columns import canonical_json

#: kinds of estimates
MEAN, RATIO, OVERHEAD, DRIFT = "mean", "ratio", "overhead", "drift"
#: the reference of an overhead and of a drift
DISTILLED, ITSELF = "distilled", "itself"
#: metric: the share of false alarms among the short intervals of an A/A test
FALSE_ALARMS = "false_alarms"
#: kind of a vector that holds the cost of each primitive on a system
SYSTEM = "system"
#: kinds of an application vector and of a prediction (`regatta predict --ingest`)
APPLICATION, PREDICTION = "application", "prediction"
#: the suite that measures primitives, and the size that is not shown
_PRIMITIVES, _USUAL_SIZE = "lm", "default"


def estimate_points(answer: Answer, as_of_ns: int) -> Iterator[Point]:
    """Yield means, ratios to the baseline, lower-bound GC overheads, and the drift that an A/A test found.

    Args:
        answer: answer of one experiment.
        as_of_ns: start of its newest record, UTC.
    """
    return apart(_estimates(answer, as_of_ns))


def _estimates(answer: Answer, time_ns: int) -> Iterator[Point]:
    cells: dict[tuple[str, str], CellAnswer] = {}
    for cell in answer.cells:
        # The compared metric comes first.
        cells.setdefault((cell.place.host, cell.cell_id), cell)
    make = _Maker(answer, time_ns)
    yield from map(make.mean, answer.cells)
    for comparison in answer.comparisons:
        yield make.ratio(comparison, cells[comparison.place.host, comparison.a])
    over = HOSTS.of(answer)
    if len(over.hosts) > 1:
        by_name = {
            (c.place.platform, c.place.benchmark, c.place.configuration, c.place.heap.asked): c
            for c in answer.cells
        }
        for one in over.comparisons:
            of = by_name.get((one.platform, one.benchmark, one.a_name, one.heap.asked))
            if of is not None:
                yield make.ratio_over_hosts(one, of)
    for overhead in COLLECTORS.of(answer).overheads:
        yield make.overhead(overhead, cells[overhead.place.host, overhead.cell_id])
    for gate in AA.of(answer):
        yield from make.drifts(gate)


class _Maker:
    """Makes the points of one answer at one time."""

    def __init__(self, answer: Answer, time_ns: int) -> None:
        self._answer = answer
        self._time_ns = time_ns

    def _point(
        self,
        place: Place,
        series: tuple[str, str, Mapping[str, Any]],
        kind: tuple[str, str],
        estimate: Interval,
        **more: Any,
    ) -> Point:
        metric, unit, parameters = series
        tags = (
            self._answer.experiment, place.host, place.platform, place.benchmark, place.runtime, place.collector,
            place.modifiers, heap_text(place.heap.factor, place.heap.mib), metric, unit, canonical_json(dict(parameters)), *kind,
        )  # fmt: skip
        fields = {
            "theta_percent": self._answer.theta_percent, "heap_factor": place.heap.factor,
            "heap_mib": place.heap.mib,
            **_interval(estimate), **more,
        }  # fmt: skip
        return make_point(ESTIMATE, tags, fields, self._time_ns)

    def mean(self, cell: CellAnswer) -> Point:
        """Return the mean of a series."""
        return self._point(
            cell.place,
            (cell.metric, cell.unit, cell.parameters),
            (MEAN, ""),
            cell.estimate,
            better=cell.better,
            label=_label(cell.place),
        )

    def ratio(self, comparison: Comparison, of: CellAnswer) -> Point:
        """Return the ratio of an alternative to its baseline."""
        return self._point(
            comparison.place,
            (comparison.metric, "ratio", comparison.parameters),
            (RATIO, comparison.b_name),
            comparison.ratio,
            better=of.better,
            practical=comparison.practical,
            label=f"{_label(of.place)} / {comparison.b_name}",
            p=comparison.p,
            p_holm=comparison.p_holm,
        )

    def ratio_over_hosts(self, comparison: HostComparison, of: CellAnswer) -> Point:
        """Return the ratio over all hosts of a platform."""
        return self._point(
            replace(of.place, host="", heap=comparison.heap),
            (comparison.metric, "ratio", comparison.parameters),
            (RATIO, comparison.b_name),
            comparison.ratio,
            better=comparison.better,
            practical=comparison.practical,
            label=f"{_label_over_hosts(comparison, of.place)} / {comparison.b_name}",
            p=comparison.p,
        )

    def overhead(self, overhead: Overhead, of: CellAnswer) -> Point:
        """Return the lower-bound overhead of a collector; the metric is the resource: `wall` or `cpu`."""
        return self._point(
            overhead.place,
            (overhead.resource, "ratio", {}),
            (OVERHEAD, DISTILLED),
            overhead.ratio,
            better="lower",
            label=_label(of.place),
        )

    def drifts(self, gate: Gate) -> Iterator[Point]:
        """Yield the drift of a host: each cell over its twin, and the share of false alarms among short intervals."""
        platform = next((pair.place.platform for pair in gate.pairs), "")
        for pair in gate.pairs:
            yield self._point(
                pair.place,
                (pair.metric, "ratio", {}),
                (DRIFT, ITSELF),
                pair.ratio,
                label=f"{pair.place.benchmark} · {pair.place.configuration}",
                p=pair.p,
            )
        yield self._point(
            Place(gate.host, platform, "", "", "", "", Heap()),
            (FALSE_ALARMS, "ratio", {}),
            (DRIFT, ITSELF),
            gate.alarm_rate,
            better="lower",
            practical={None: "open", True: "no", False: "yes"}[gate.holds],
            label=gate.words,
            p=gate.p,
        )


def vector_points(answer: Answer, as_of_ns: int) -> Iterator[Point]:
    """Yield the system vector: the cost of each primitive, one point per set of parameters."""
    return apart(_vectors(answer, as_of_ns))


def _vectors(answer: Answer, time_ns: int) -> Iterator[Point]:
    metrics: dict[tuple[str, str], str] = {}
    for cell in answer.cells:
        parts = parts_of_label(cell.place.benchmark)
        metric = metrics.setdefault((cell.place.host, cell.cell_id), cell.metric)
        if parts.suite != _PRIMITIVES or cell.metric != metric:
            continue
        # The choices of the spec and the modifiers also distinguish vectors.
        parameters = {**parts.chosen, **cell.parameters}
        if cell.place.modifiers not in ("", NO_MODIFIERS):
            parameters["modifiers"] = cell.place.modifiers
        name = parts.name if parts.size in ("", _USUAL_SIZE) else f"{parts.name}:{parts.size}"
        tags = (
            answer.experiment, cell.place.host, cell.place.platform, cell.place.runtime, SYSTEM, name, canonical_json(parameters), cell.unit,
            "", "",
        )  # fmt: skip
        yield make_point(VECTOR, tags, {**_interval(cell.estimate), "value": cell.estimate.point}, time_ns)


def _interval(estimate: Interval) -> dict[str, Any]:
    return {
        "n": estimate.n, "point": estimate.point, "low": estimate.low, "high": estimate.high,
        "level": estimate.level, "method": estimate.method, "reason": estimate.reason,
    }  # fmt: skip


def _label(place: Place) -> str:
    heap = place.heap
    return cell_label(place.benchmark, place.runtime, place.collector, place.modifiers, heap.factor, heap.mib)


def _label_over_hosts(comparison: HostComparison, place: Place) -> str:
    if comparison.heap.mib is not None or comparison.heap.factor is None:
        return _label(place)
    # Sizes differ between hosts.
    return f"{_label(replace(place, heap=Heap()))} · {heap_text(comparison.heap.factor, None)}"
