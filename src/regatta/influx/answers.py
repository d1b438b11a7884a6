"""Answers of the analysis as points: estimates and system vectors.

All points of an answer have one time: the start of the newest record that it is based on. The same journal gives the same
points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from regatta.host.values.cell import NO_MODIFIERS, cell_label
from regatta.host.values.experiment import Heap
from regatta.influx import points
from regatta.influx.points import Point, apart, estimate_point, interval_fields, make_point
from regatta.influx.short_labels import labelled_estimates, labelled_vectors
from regatta.stats.estimate import Interval, undefined
from regatta.store.columns import canonical_json

#: Pairs of more alternatives are not written: the number of series would grow with the square of that of hosts.
_MOST_PAIRED = 10
#: the reference of an overhead, of a drift and of a rank
DISTILLED, ITSELF, BEST = "distilled", "itself", "best"
#: metric: the share of false alarms among the short intervals of an A/A test
FALSE_ALARMS = "false_alarms"
#: the suites that measure primitives, and the size that is not shown
_PRIMITIVES, _USUAL_SIZE = ("lm", "micro"), "default"
#: the parameter that names a primitive, in suites whose benchmarks measure several
_OPERATION = {"micro": "operation"}


def estimate_points(answer: Answer, as_of_ns: int) -> Iterator[Point]:
    """Yield means, ratios (to the baseline, to the first runtime, of platforms), pairs, GC overheads and drift.

    `as_of_ns`: start of its newest record, UTC.
    """
    return apart(labelled_estimates(_estimates(answer, as_of_ns)))


def _estimates(answer: Answer, time_ns: int) -> Iterator[Point]:
    cells: dict[tuple[str, str], CellAnswer] = {}
    for cell in answer.cells:
        # The compared metric comes first.
        cells.setdefault((cell.place.host, cell.cell_id), cell)
    make = _Maker(answer, time_ns)
    yield from map(make.mean, answer.cells)
    for comparison in answer.comparisons:
        of = cells[comparison.place.host, comparison.a]
        yield make.ratio(comparison, of.better, of.place)
    for comparison in RUNTIMES.of(answer):
        alternative, base = (cells[comparison.place.host, one] for one in (comparison.a, comparison.b))
        yield make.ratio(
            comparison, alternative.better, alternative.place, (points.RUNTIME, base.place.runtime)
        )
    over = HOSTS.of(answer)
    if len(over.hosts) > 1:
        yield from (make.ratio(one, one.better, one.place) for one in over.comparisons)
    yield from make.platforms(PLATFORMS.of(answer))
    for topic in TOPICS:
        for standings in topic.standings(topic.of(answer), answer) if topic.standings else ():
            yield from make.ranks(standings)
            yield from make.pairs(standings)
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
        self, place: Place, metric: str, kind: tuple[str, str], estimate: Interval,
        parameters: Mapping[str, Any] | None = None, unit: str = "ratio", **more: Any,
    ) -> Point:  # fmt: skip
        more["theta_percent"] = self._answer.theta_percent
        series = (metric, unit, parameters or {})
        return estimate_point(self._answer.experiment, place, series, kind, estimate, self._time_ns, **more)

    def mean(self, cell: CellAnswer) -> Point:
        """Return the mean of a series."""
        return self._point(
            cell.place, cell.metric, (points.MEAN, ""), cell.estimate, cell.parameters, cell.unit, better=cell.better,
            label=_label(cell.place),
        )  # fmt: skip

    def ratio(
        self, of: Comparison | HostComparison, better: str, named: Place, kind: tuple[str, str] | None = None
    ) -> Point:
        """Return the ratio of an alternative to its baseline, on one host or over all hosts of a platform.

        `named`: place of the alternative, for the label; `kind`: its tags, if not `ratio`.
        """
        kind = kind or (points.RATIO, of.b_name)
        return self._point(
            of.place, of.metric, kind, of.ratio, of.parameters, better=better, **vars(of.verdict),
            label=f"{_label(named)} / {kind[1]}", p=of.p, p_holm=of.p_holm,
        )  # fmt: skip

    def platforms(self, found: Platforms) -> Iterator[Point]:
        """Yield ratios of platforms (or hosts), their means over benchmarks, and the drift of each."""
        for one in found.ratios:
            yield self._platform(
                found, one, points.PLATFORM, one.these, **vars(one.verdict), p=one.p, p_holm=one.p_holm,
                label=f"these hosts ({len(one.hosts_a)} / {len(one.hosts_b)})",
            )  # fmt: skip
            if found.by == "platform":
                yield self._platform(found, one, points.SIMILAR_HOSTS, one.like_these, label="similar hosts")
        for ranking in rankings(found.means):
            yield from self._ranking(found, ranking)
        for times in found.times:
            nowhere = Place("", "", "", "", "", "", Heap())
            yield self._point(
                place_on(found.by, times.platform, nowhere, self._answer.platforms),
                "", (points.PLATFORM_DRIFT, ITSELF), times.drift, alternative=times.platform,
                first_utc_ns=times.first_utc_ns, last_utc_ns=times.last_utc_ns,
            )  # fmt: skip

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
                    found, replace(base, a=base.b), points.PLATFORM, baseline, rank=rank, **vars(Verdict())
                )
                continue
            statements = [
                (points.PLATFORM, mean.these, "these benchmarks and hosts", mean.verdict),
                (points.SIMILAR_BENCHMARKS, mean.like_these, "similar benchmarks", Verdict()),
            ]
            if found.by == "platform":
                statements.append((points.SIMILAR_HOSTS, mean.similar_hosts, "similar hosts", Verdict()))
            for kind, ratio, label, verdict in statements:
                yield self._platform(found, mean, kind, ratio, label=label, rank=rank, **vars(verdict))

    def _platform(
        self, found: Platforms, of: PlatformRatio | PlatformMean, kind: str, ratio: Interval, **more: Any
    ) -> Point:
        """Return a ratio of platforms; one of a mean over benchmarks has no benchmark."""
        place = place_on(found.by, of.a, of.place, self._answer.platforms)
        more |= {"alternative": of.a, "better": of.better}
        return self._point(place, of.metric, (kind, of.b), ratio, of.parameters, **more)

    def ranks(self, of: Standings) -> Iterator[Point]:
        """Yield each alternative relative to the best one, the best first: dashboards keep this order."""
        # An alternative with unknown variance can precede the best of the others.
        best = next(iter(of.leaders or of.places))
        kind = (f"{of.kind}-{points.RANK}", f"{BEST} ({of.baseline})" if of.baseline else BEST)
        for rank, (name, place) in enumerate(of.places.items(), 1):
            if name == best:
                any_ratio = of.pairs[0].ratio
                ratio, p = undefined(any_ratio.n, any_ratio.level, "", BEST, 1.0), None
            else:
                pair = pair_of(of.pairs, name, best)
                ratio, p = pair.ratio, pair.p
            leader = ("yes" if name in of.leaders else "no") if of.leaders else None
            more: dict[str, Any] = {"alternative": name, "better": of.better, "rank": rank, "p": p}
            yield self._point(place, of.metric, kind, ratio, of.parameters, leader=leader, **more)

    def pairs(self, of: Standings) -> Iterator[Point]:
        """Yield all pairs, in the order of the plan: a series does not depend on which one is better."""
        if len(of.places) > _MOST_PAIRED:
            return
        for pair in of.pairs:
            kind = (f"{of.kind}-{points.PAIR}", pair.b_name)
            more: dict[str, Any] = {"alternative": pair.a_name, "better": of.better, **vars(pair.verdict)}
            more |= {"p": pair.p, "label": f"{pair.a_name} / {pair.b_name}"}
            yield self._point(of.places[pair.a_name], of.metric, kind, pair.ratio, of.parameters, **more)

    def overhead(self, overhead: Overhead, of: CellAnswer) -> Point:
        """Return the lower-bound overhead of a collector; the metric is the resource: `wall` or `cpu`."""
        label, kind = _label(of.place), (points.OVERHEAD, DISTILLED)
        return self._point(
            overhead.place, overhead.resource, kind, overhead.ratio, better="lower", label=label
        )

    def drifts(self, gate: Gate) -> Iterator[Point]:
        """Yield the drift of a host: each cell over its twin, and the share of false alarms among short intervals."""
        platform = next((pair.place.platform for pair in gate.pairs), "")
        for pair in gate.pairs:
            label = f"{pair.place.benchmark} · {pair.place.configuration}"
            yield self._point(
                pair.place, pair.metric, (points.DRIFT, ITSELF), pair.ratio, label=label, p=pair.p
            )
        place = Place(gate.host, platform, "", "", "", "", Heap())
        practical = {None: "open", True: "no", False: "yes"}[gate.holds]
        more: dict[str, Any] = {"better": "lower", "practical": practical, "label": gate.words, "p": gate.p}
        yield self._point(place, FALSE_ALARMS, (points.DRIFT, ITSELF), gate.alarm_rate, **more)


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
        where = (answer.experiment, cell.place.host, cell.place.platform, cell.place.runtime)
        tags = (*where, points.SYSTEM, name, canonical_json(parameters), cell.unit, "", "")
        fields = {**interval_fields(cell.estimate), "value": cell.estimate.point}
        yield make_point(points.VECTOR, tags, fields, time_ns)


def _label(place: Place) -> str:
    return cell_label(place.benchmark, place.runtime, place.collector, place.modifiers, place.heap)
