"""Predictions as points: how often an application uses each primitive, and what that takes on each system.

They are of no journal: `regatta predict --ingest` writes them, instead of those that the database has of these applications.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from regatta.influx.answers import APPLICATION, PREDICTION
from regatta.influx.client import Client
from regatta.influx.journal import any_of
from regatta.influx.lines import encode
from regatta.influx.points import VECTOR, Point, apart, make_point
from regatta.influx.rebuilding import delete
from regatta.model.forecast import ApplicationForecast, Forecast, SystemForecast
from regatta.model.vectors import Contribution, Interval
from regatta.store.columns import canonical_json

#: the tag `primitive` of a prediction's totals
TOTAL = ""
_TIMES = ("elapsed", "kernel", "user")


def prediction_points(forecast: Forecast, time_ns: int) -> Iterator[Point]:
    """The counts of each application, and on each system its contributions and totals.

    Args:
        forecast: what was predicted.
        time_ns: UTC, of all of them.
    """
    return apart(_points(forecast, time_ns))


def _points(forecast: Forecast, time_ns: int) -> Iterator[Point]:
    for one in forecast.applications:
        for experiment in dict.fromkeys(system.provenance.get("experiment", "") for system in one.systems):
            yield from _counts(one, experiment, time_ns)
        for rank, system in enumerate(one.systems, start=1):
            make = _Maker(one, system, time_ns)
            yield from map(make.contribution, system.prediction.contributions)
            yield from (make.total(what, rank) for what in _TIMES)


def _counts(one: ApplicationForecast, experiment: str, time_ns: int) -> Iterator[Point]:
    application = one.application
    for count in application.counts:
        arguments = dict(count.arguments)
        if count.distribution:
            arguments = {"arguments": len(count.distribution)}
        tags = (
            experiment,
            "",
            "",
            "",
            APPLICATION,
            count.primitive,
            canonical_json(arguments),
            "count",
            "",
            application.name,
        )
        yield make_point(
            VECTOR,
            tags,
            {**_interval(count.count), "level": application.level, "rule": _rule(count)},
            time_ns,
        )


class _Maker:
    """Points of one application on one system at one time."""

    def __init__(self, one: ApplicationForecast, system: SystemForecast, time_ns: int) -> None:
        self._application = one.application.name
        self._system = system
        self._time_ns = time_ns

    def _point(self, primitive: str, parameters: Mapping[str, Any], fields: Mapping[str, Any]) -> Point:
        provenance = self._system.provenance
        tags = (
            provenance.get("experiment", ""), provenance.get("host", ""), provenance.get("platform", ""),
            provenance.get("runtime", "native"), PREDICTION, primitive, canonical_json(dict(parameters)), "ns",
            self._system.system, self._application,
        )  # fmt: skip
        return make_point(VECTOR, tags, {"level": self._system.prediction.level, **fields}, self._time_ns)

    def contribution(self, row: Contribution) -> Point:
        """What one entry takes."""
        fields = {
            **_interval(row.time), "cost": row.cost.value, "count": row.count.value, "share": row.share, "rule": _rule(row),
        }  # fmt: skip
        return self._point(row.primitive, row.arguments, fields)

    def total(self, what: str, rank: int) -> Point:
        """The whole: predicted, and measured where it was."""
        system = self._system
        predicted = {"elapsed": system.elapsed, "kernel": system.prediction.kernel, "user": system.user}[what]
        fields: dict[str, Any] = {**_interval(predicted), "rank": rank}
        if system.measured is not None:
            measured: Interval = getattr(system.measured, what)
            fields |= {
                "measured": measured.value,
                "measured_low": measured.low,
                "measured_high": measured.high,
            }
        if what in system.ratios:
            fields["error"] = system.ratios[what].value - 1.0
        return self._point(TOTAL, {"time": what}, fields)


def _rule(row: Contribution | Any) -> str:
    """Which calls stand behind it, and why."""
    calls = ", ".join(row.stands_for)
    return f"{calls}: {row.rule}" if calls and row.rule else calls or row.rule


def _interval(number: Interval) -> dict[str, Any]:
    return {
        "value": number.value,
        "low": number.low,
        "high": number.high,
        "n": number.n,
        "method": "mover",
        "reason": number.reason,
    }


def write_predictions(forecast: Forecast, client: Client, time_ns: int) -> int:
    """Write a forecast instead of what the database has of its applications; returns how many points it is.

    Raises:
        StoreError: the database does not answer, or does not let the account write or delete.
    """
    names = sorted({one.application.name for one in forecast.applications})
    if names:
        delete(client, VECTOR, [any_of("application", names), any_of("kind", [APPLICATION, PREDICTION])])
    lines = [encode(point) for point in prediction_points(forecast, time_ns)]
    if lines:
        client.write(lines)
    return len(lines)
