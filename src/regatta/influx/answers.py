"""Answers of the analysis as points: estimates and system vectors.

All points of an answer have one time: the start of the newest record that it is based on. The same journal gives the same
points.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from regatta.answers.kit.ranking import Standings
from regatta.answers.report.registry import TOPICS
from regatta.answers.spine.families.words import pair_of
from regatta.answers.spine.parts import Place
from regatta.answers.spine.result import Answer, CellAnswer, Comparison
from regatta.answers.spine.verdicts import Verdict
from regatta.answers.topics.aa.compute import Gate
from regatta.answers.topics.aa.topic import AA
from regatta.answers.topics.collectors.compute import Overhead
from regatta.answers.topics.collectors.topic import COLLECTORS
from regatta.answers.topics.hosts.result import HostComparison
from regatta.answers.topics.hosts.topic import HOSTS
from regatta.answers.topics.platforms.compute import (
    PlatformMean,
    PlatformRatio,
    Platforms,
    place_on,
    rankings,
)
from regatta.answers.topics.platforms.topic import PLATFORMS
from regatta.answers.topics.runtimes.topic import RUNTIMES
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.cell import NO_MODIFIERS, cell_label, heap_text
from regatta.host.values.experiment import Heap, Scalar
from regatta.influx.points import ESTIMATE, TAGS, VECTOR, Point, apart, make_point
from regatta.influx.short_labels import configuration_text, differing, parameters_of, places, setting_text
from regatta.influx.vector_labels import labelled_vectors
from regatta.stats.estimate import DISTURBED, Interval, is_disturbed, undefined
from regatta.store.columns import canonical_json

#: kinds of estimates
MEAN, RATIO, RUNTIME, OVERHEAD, DRIFT = "mean", "ratio", "runtime", "overhead", "drift"
#: kinds of ratios of platforms: for exactly these hosts and benchmarks, for similar hosts, and for similar benchmarks
PLATFORM, SIMILAR_HOSTS, SIMILAR_BENCHMARKS = "platform", "platform-hosts", "platform-benchmarks"
#: kind: change of a platform's values during its measurement
PLATFORM_DRIFT = "platform-drift"
#: ends of kinds: all pairs (`platform-pair`), and each alternative relative to the best (`platform-rank`)
PAIR, RANK = "pair", "rank"
#: kinds that depend on the set of alternatives: later answers can have others
OF_SETS = [f"{kind}-{end}" for kind in ("platform", "suite") for end in (PAIR, RANK)]
#: Pairs of more alternatives are not written: the number of series would grow with the square of that of hosts.
_MOST_PAIRED = 10
#: the reference of an overhead, of a drift and of a rank
DISTILLED, ITSELF, BEST = "distilled", "itself", "best"
#: metric: the share of false alarms among the short intervals of an A/A test
FALSE_ALARMS = "false_alarms"
#: kind of a vector that holds the cost of each primitive on a system
SYSTEM = "system"
#: kinds of an application vector and of a prediction (`regatta predict --ingest`)
APPLICATION, PREDICTION = "application", "prediction"
#: the suites that measure primitives, and the size that is not shown
_PRIMITIVES, _USUAL_SIZE = ("lm", "micro"), "default"
#: the parameter that names a primitive, in suites whose benchmarks measure several
_OPERATION = {"micro": "operation"}
_NUMBER = re.compile(r"\d+(\.\d+)?")
#: the field `setting` of an estimate without parameters
NO_SETTING = "none"
#: tags of a configuration and its heap, in the order in which they are shown
_CONFIGURATION = ("runtime", "collector", "modifiers", "heap")


def estimate_points(answer: Answer, as_of_ns: int) -> Iterator[Point]:
    """Yield means, ratios (to the baseline, to the first runtime, of platforms), pairs, GC overheads and drift.

    Args:
        answer: answer of one experiment.
        as_of_ns: start of its newest record, UTC.
    """
    return apart(_labelled(_estimates(answer, as_of_ns)))


def _estimates(answer: Answer, time_ns: int) -> Iterator[Point]:
    cells: dict[tuple[str, str], CellAnswer] = {}
    for cell in answer.cells:
        # The compared metric comes first.
        cells.setdefault((cell.place.host, cell.cell_id), cell)
    make = _Maker(answer, time_ns)
    yield from map(make.mean, answer.cells)
    for comparison in answer.comparisons:
        yield make.ratio(comparison, cells[comparison.place.host, comparison.a])
    for comparison in RUNTIMES.of(answer):
        alternative, base = (cells[comparison.place.host, one] for one in (comparison.a, comparison.b))
        yield make.ratio(comparison, alternative, (RUNTIME, base.place.runtime))
    over = HOSTS.of(answer)
    if len(over.hosts) > 1:
        yield from map(make.ratio_over_hosts, over.comparisons)
    yield from make.platforms(PLATFORMS.of(answer))
    for topic in TOPICS:
        for standings in topic.standings(topic.of(answer), answer) if topic.standings else ():
            yield from make.ranks(standings)
            yield from make.pairs(standings)
    for overhead in COLLECTORS.of(answer).overheads:
        yield make.overhead(overhead, cells[overhead.place.host, overhead.cell_id])
    for gate in AA.of(answer):
        yield from make.drifts(gate)


def _labelled(points: Iterable[Point]) -> list[Point]:
    """Add short names and places to estimates. They depend on the differences between all estimates of the answer."""
    points = list(points)
    tags = [dict(zip(TAGS[ESTIMATE], point.tags, strict=True)) for point in points]
    parts = [{name: one[name] for name in _CONFIGURATION} for one in tags]
    shown = differing([part for part, point in zip(parts, points, strict=True) if _is_mean(point)])
    parameters = [parameters_of(one["parameters"]) for one in tags]
    of_series: dict[tuple[str, str], list[Mapping[str, Scalar]]] = {}
    for one, own in zip(tags, parameters, strict=True):
        of_series.setdefault((one["benchmark"], one["metric"]), []).append(own)
    place = places(
        (point.tags, (one["benchmark"], one["metric"], one["heap"], *part.values(), one["parameters"]))
        for point, one, part in zip(points, tags, parts, strict=True)
    )
    return [
        replace(
            point,
            fields={
                **point.fields,
                "short": _marked(
                    configuration_text(
                        {name: text for name, text in part.items() if text != NO_MODIFIERS}, shown
                    ),
                    point,
                ),
                "setting": setting_text(own, differing(of_series[one["benchmark"], one["metric"]]) or None)
                or NO_SETTING,
                "place": place[point.tags],
                **_first_number(one["benchmark"]),
            },
        )
        for point, one, part, own in zip(points, tags, parts, parameters, strict=True)
    ]


def _first_number(label: str) -> dict[str, float]:
    """Return the field `number`: the first number among the choices in the label of a benchmark."""
    numbers = [text for text in parts_of_label(label).chosen.values() if _NUMBER.fullmatch(text)]
    return {"number": float(numbers[0])} if numbers else {}


def _is_mean(point: Point) -> bool:
    return point.tags[TAGS[ESTIMATE].index("kind")] == MEAN


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

    def ratio(self, comparison: Comparison, of: CellAnswer, kind: tuple[str, str] | None = None) -> Point:
        """Return the ratio of an alternative to its baseline. `kind`: the tags `kind` and `baseline`, if not `ratio`."""
        kind = kind or (RATIO, comparison.b_name)
        return self._point(
            comparison.place,
            (comparison.metric, "ratio", comparison.parameters),
            kind,
            comparison.ratio,
            better=of.better,
            **vars(comparison.verdict),
            label=f"{_label(of.place)} / {kind[1]}",
            p=comparison.p,
            p_holm=comparison.p_holm,
        )

    def ratio_over_hosts(self, comparison: HostComparison) -> Point:
        """Return the ratio over all hosts of a platform."""
        return self._point(
            comparison.place,
            (comparison.metric, "ratio", comparison.parameters),
            (RATIO, comparison.b_name),
            comparison.ratio,
            better=comparison.better,
            **vars(comparison.verdict),
            label=f"{_label(comparison.place)} / {comparison.b_name}",
            p=comparison.p,
            p_holm=comparison.p_holm,
        )

    def platforms(self, found: Platforms) -> Iterator[Point]:
        """Yield ratios of platforms (or hosts), their means over benchmarks, and the drift of each."""
        for one in found.ratios:
            yield self._platform(
                found, one, PLATFORM, one.these, **vars(one.verdict), p=one.p, p_holm=one.p_holm,
                label=f"these hosts ({len(one.hosts_a)} / {len(one.hosts_b)})",
            )  # fmt: skip
            if found.by == "platform":
                yield self._platform(found, one, SIMILAR_HOSTS, one.like_these, label="similar hosts")
        for ranking in rankings(found.means):
            yield from self._ranking(found, ranking)
        for times in found.times:
            yield self._point(
                place_on(
                    found.by, times.platform, Place("", "", "", "", "", "", Heap()), self._answer.platforms
                ),
                ("", "ratio", {}),
                (PLATFORM_DRIFT, ITSELF),
                times.drift,
                alternative=times.platform,
                first_utc_ns=times.first_utc_ns,
                last_utc_ns=times.last_utc_ns,
            )

    def _ranking(
        self, found: Platforms, ranking: Sequence[tuple[int, PlatformMean | None]]
    ) -> Iterator[Point]:
        """Yield the means over benchmarks of one configuration, and their baseline, the best first: dashboards keep this order."""
        base = next(mean for _, mean in ranking if mean is not None)
        for rank, mean in ranking:
            if mean is None:
                n, level = len(base.benchmarks), base.these.level
                baseline = undefined(n, level, "", "baseline", 1.0)
                yield self._platform(
                    found, replace(base, a=base.b), PLATFORM, baseline, rank=rank, **vars(Verdict())
                )
                continue
            statements = [
                (PLATFORM, mean.these, "these benchmarks and hosts", mean.verdict),
                (SIMILAR_BENCHMARKS, mean.like_these, "similar benchmarks", Verdict()),
            ]
            if found.by == "platform":
                statements.append((SIMILAR_HOSTS, mean.similar_hosts, "similar hosts", Verdict()))
            for kind, ratio, label, verdict in statements:
                yield self._platform(found, mean, kind, ratio, label=label, rank=rank, **vars(verdict))

    def _platform(
        self, found: Platforms, of: PlatformRatio | PlatformMean, kind: str, ratio: Interval, **more: Any
    ) -> Point:
        """Return a ratio of platforms; one of a mean over benchmarks has no benchmark."""
        place = place_on(found.by, of.a, of.place, self._answer.platforms)
        series = (of.metric, "ratio", of.parameters)
        return self._point(place, series, (kind, of.b), ratio, alternative=of.a, better=of.better, **more)

    def ranks(self, of: Standings) -> Iterator[Point]:
        """Yield each alternative relative to the best one, the best first: dashboards keep this order."""
        # An alternative with unknown variance can precede the best of the others.
        best = next(iter(of.leaders or of.places))
        kind = (f"{of.kind}-{RANK}", f"{BEST} ({of.baseline})" if of.baseline else BEST)
        for rank, (name, place) in enumerate(of.places.items(), 1):
            if name == best:
                any_ratio = of.pairs[0].ratio
                ratio, p = undefined(any_ratio.n, any_ratio.level, "", BEST, 1.0), None
            else:
                pair = pair_of(of.pairs, name, best)
                ratio, p = pair.ratio, pair.p
            leader = ("yes" if name in of.leaders else "no") if of.leaders else None
            series = (of.metric, "ratio", of.parameters)
            yield self._point(
                place, series, kind, ratio, alternative=name, better=of.better, rank=rank, leader=leader, p=p,
            )  # fmt: skip

    def pairs(self, of: Standings) -> Iterator[Point]:
        """Yield all pairs, in the order of the plan: a series does not depend on which one is better."""
        if len(of.places) > _MOST_PAIRED:
            return
        for pair in of.pairs:
            kind = (f"{of.kind}-{PAIR}", pair.b_name)
            series = (of.metric, "ratio", of.parameters)
            yield self._point(
                of.places[pair.a_name], series, kind, pair.ratio, alternative=pair.a_name, better=of.better, p=pair.p,
                label=f"{pair.a_name} / {pair.b_name}", **vars(pair.verdict),
            )  # fmt: skip

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
    return apart(labelled_vectors(_vectors(answer, as_of_ns)))


def _vectors(answer: Answer, time_ns: int) -> Iterator[Point]:
    metrics: dict[tuple[str, str], str] = {}
    for cell in answer.cells:
        parts = parts_of_label(cell.place.benchmark)
        metric = metrics.setdefault((cell.place.host, cell.cell_id), cell.metric)
        if parts.suite not in _PRIMITIVES or cell.metric != metric:
            continue
        # The choices of the spec and the modifiers also distinguish vectors.
        parameters = {**parts.chosen, **cell.parameters}
        if cell.place.modifiers not in ("", NO_MODIFIERS):
            parameters["modifiers"] = cell.place.modifiers
        if cell.place.collector:
            parameters["collector"] = cell.place.collector
        base = str(parameters.pop(_OPERATION.get(parts.suite, ""), parts.name))
        name = base if parts.size in ("", _USUAL_SIZE) else f"{base}:{parts.size}"
        tags = (
            answer.experiment, cell.place.host, cell.place.platform, cell.place.runtime, SYSTEM, name, canonical_json(parameters), cell.unit,
            "", "",
        )  # fmt: skip
        yield make_point(VECTOR, tags, {**_interval(cell.estimate), "value": cell.estimate.point}, time_ns)


def _marked(short: str, point: Point) -> str:
    """Return a short name, with a mark if the estimate is disturbed: the bars of dashboards have this name."""
    return f"{short} ({DISTURBED})".strip() if is_disturbed(str(point.fields["method"])) else short


def _interval(estimate: Interval) -> dict[str, Any]:
    return {
        "n": estimate.n, "point": estimate.point, "low": estimate.low, "high": estimate.high,
        "level": estimate.level, "method": estimate.method, "reason": estimate.reason,
    }  # fmt: skip


def _label(place: Place) -> str:
    return cell_label(place.benchmark, place.runtime, place.collector, place.modifiers, place.heap)
