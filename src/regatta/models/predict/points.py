"""Predictions as points: how often an application uses each primitive, and the predicted time on each system.

The answer of an experiment whose spec has `predict` has them, and `regatta predict --ingest` writes those of other applications.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from regatta.answers.kit.topic import Replacement
from regatta.influx.client import Client
from regatta.influx.journal import tagged
from regatta.influx.points import APPLICATION, PREDICTION, VECTOR, Point, make_point
from regatta.influx.replacing import write_instead
from regatta.influx.short_labels import labelled_vectors
from regatta.models.predict.forecast import ApplicationForecast, Forecast, SystemForecast
from regatta.models.vectors.sums import Sum, positive, spread, summed, uncertain
from regatta.models.vectors.values import ApplicationVector, Contribution, Count, Value
from regatta.store.columns import canonical_json

#: tag `primitive` of the totals of a prediction
TOTAL = ""
_TIMES = ("elapsed", "kernel", "user")
#: replaces `elapsed` if the user-mode time of the application is unknown
PRIMITIVES = "primitives"


def prediction_points(forecast: Forecast, time_ns: int) -> list[Point]:
    """Return the counts of each application, and its contributions and totals on each system.

    Each is a separate series. Entries of one primitive with the same arguments are merged: counts, times and
    shares are added.
    `time_ns`: UTC, of all points.
    """
    return labelled_vectors(_points(forecast, time_ns))


def _points(forecast: Forecast, time_ns: int) -> Iterator[Point]:
    for one in forecast.applications:
        entries = _entries(one)
        for experiment in dict.fromkeys(system.provenance.get("experiment", "") for system in one.systems):
            yield from _counts(one, entries, experiment, time_ns)
        for rank, system in enumerate(one.systems, start=1):
            make = _Maker(one.application, system, time_ns)
            yield from map(make.contribution, entries)
            yield from (make.total(what, rank) for what in _TIMES)


@dataclass(frozen=True)
class _Entry:
    """One primitive with one set of arguments in an application, from any call or rule."""

    primitive: str
    parameters: str
    #: indices into the counts of the application, which match the contributions
    numbers: tuple[int, ...]


def _entries(one: ApplicationForecast) -> list[_Entry]:
    """Return the entries in the order of the counts, unique by primitive and parameters."""
    numbers: dict[Hashable, list[int]] = {}
    for number, count in enumerate(one.application.counts):
        numbers.setdefault(_used_with(count), []).append(number)
    found: dict[tuple[str, str], _Entry] = {}
    for own in numbers.values():
        count = one.application.counts[own[0]]
        # For a distribution, these are the means.
        shown = dict(one.systems[0].prediction.contributions[own[0]].arguments)
        if count.distribution:
            shown["arguments"] = len(count.distribution)
        at = (count.primitive, canonical_json(shown) or "")
        while at in found:
            # Distributions with equal means can have different costs.
            shown["distribution"] = shown.get("distribution", 1) + 1
            at = (count.primitive, canonical_json(shown) or "")
        found[at] = _Entry(*at, tuple(own))
    return list(found.values())


def _used_with(count: Count) -> Hashable:
    distribution = sorted((sorted(part.arguments.items()), part.share) for part in count.distribution)
    return count.primitive, repr(sorted(count.arguments.items())), repr(distribution)


def _counts(
    one: ApplicationForecast, entries: Sequence[_Entry], experiment: str, time_ns: int
) -> Iterator[Point]:
    application = one.application
    for entry in entries:
        rows = [application.counts[number] for number in entry.numbers]
        what = (APPLICATION, entry.primitive, entry.parameters, "count")
        tags = (experiment, "", "", "", *what, "", application.name)
        fields = {**_interval(_count_of(rows)), "level": application.level, "rule": _rules(rows)}
        yield make_point(VECTOR, tags, fields, time_ns)


@dataclass(frozen=True)
class _Maker:
    """Makes the points of one application on one system at one time."""

    _application: ApplicationVector
    _system: SystemForecast
    _time_ns: int

    def _point(self, primitive: str, parameters: str, fields: Mapping[str, Any]) -> Point:
        told = {"runtime": "native", **self._system.provenance}
        where = (told.get(key, "") for key in ("experiment", "host", "platform", "runtime"))
        names = (self._system.system, self._application.name)
        tags = (*where, PREDICTION, primitive, parameters, "ns", *names)
        return make_point(VECTOR, tags, {"level": self._system.prediction.level, **fields}, self._time_ns)

    def contribution(self, entry: _Entry) -> Point:
        """Return the predicted time of one entry."""
        rows = [self._system.prediction.contributions[number] for number in entry.numbers]
        # The cost of an entry with count zero was not computed.
        cost = next((row.cost.value for row in rows if not _counts_nothing(row)), rows[0].cost.value)
        share = sum(row.share for row in rows)
        entry_fields = {"cost": cost, "count": _count_of(rows).value, "share": share, "rule": _rules(rows)}
        fields = {**_interval(_time_of(rows)), **entry_fields}
        return self._point(entry.primitive, entry.parameters, fields)

    def total(self, what: str, rank: int) -> Point:
        """Return the total: predicted, and measured if available.

        Without the user-mode time of the application, `elapsed` is unknown. The total of its primitives is
        reported instead, without any measured value or user-mode part.
        """
        system = self._system
        predicted = {"elapsed": system.elapsed, "kernel": system.kernel, "user": system.user}[what]
        fields: dict[str, Any] = {**_interval(predicted), "method": "mover and model error", "rank": rank}
        whole = self._application.user_time is not None
        if system.measured is not None and (whole or what == "kernel"):
            measured: Value = getattr(system.measured, what)
            ends = {"measured_low": measured.low, "measured_high": measured.high}
            fields |= {"measured": measured.value, **ends}
        if what in system.ratios:
            fields["error"] = system.ratios[what].value - 1.0
        named = what if whole or what != "elapsed" else PRIMITIVES
        return self._point(TOTAL, canonical_json({"time": named}) or "", fields)


def _count_of(rows: Sequence[Count | Contribution]) -> Value:
    """Return the total count; its number of invocations is the smallest of the rows."""
    if len(rows) == 1:
        return rows[0].count
    whole = summed(uncertain(row.count, number) for number, row in enumerate(rows))
    return replace(whole.interval(), n=min((row.count.n for row in rows if row.count.n), default=0))


def _time_of(rows: Sequence[Contribution]) -> Value:
    """Return the total time in ns.

    The rows share one cost, so that its errors correlate; errors of counts do not.
    """
    if len(rows) == 1:
        return rows[0].time
    whole = Sum(0.0)
    for number, row in enumerate(rows):
        if not _counts_nothing(row):
            terms = {**spread(row.cost, "cost", row.count.value), **spread(row.count, number, row.cost.value)}
            whole = whole.plus(Sum(row.time.value, terms, row.time.reason))
    return positive(whole.interval())


def _counts_nothing(row: Contribution) -> bool:
    return row.count.value == 0.0 and row.count.is_exact


def _rules(rows: Sequence[Count | Contribution]) -> str:
    """Return the calls behind the rows, and the reasons."""
    return "; ".join(dict.fromkeys(text for row in rows if (text := _rule(row))))


def _rule(row: Count | Contribution) -> str:
    calls = ", ".join(row.stands_for)
    return f"{calls}: {row.rule}" if calls and row.rule else calls or row.rule


def _interval(number: Value) -> dict[str, Any]:
    interval = {"value": number.value, "low": number.low, "high": number.high, "n": number.n}
    return {**interval, "method": "mover", "reason": number.reason}


def replacement_of(forecast: Forecast, time_ns: int) -> Replacement:
    """Return the points of a forecast, which replace those of its applications on systems of the same experiments.

    `time_ns`: UTC, of all points.
    """
    names = sorted({one.application.name for one in forecast.applications})
    systems = [system for one in forecast.applications for system in one.systems]
    experiments = sorted({system.provenance.get("experiment", "") for system in systems})
    conditions = [tagged(application=names, kind=[APPLICATION, PREDICTION], experiment=experiments)]
    return Replacement(VECTOR, conditions, prediction_points(forecast, time_ns))


def write_predictions(forecast: Forecast, client: Client, time_ns: int) -> int:
    """Replace the points of the applications of a forecast in the database; return the number of points.

    Raises:
        StoreError: the database does not answer, or the account may not write or delete.
    """
    found = replacement_of(forecast, time_ns)
    return write_instead(client, found.measurement, found.conditions, found.points)
