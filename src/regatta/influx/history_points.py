"""A history of experiments as points: estimates of its shifts, of what the canary shows, and of changes of the environment.

Grafana shows shifts and changes as annotations. An alert can name only tags. They belong to no journal: `regatta history`
detects them, and more experiments can change the result. Therefore earlier shifts of the same experiments are
deleted first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from regatta.answers.history.environment import EnvironmentChange
from regatta.answers.history.result import History, LevelShift, SeriesHistory, told_shifts
from regatta.answers.spine.parts import Place
from regatta.host.values.experiment import Heap
from regatta.influx.client import Client
from regatta.influx.journal import tagged
from regatta.influx.points import (
    AT_ONE_SPEED,
    CANARY,
    ENVIRONMENT,
    ESTIMATE,
    EVENT,
    HOST_SHIFT,
    OF_HISTORIES,
    SHIFT,
    Point,
    apart,
    estimate_point,
)
from regatta.influx.replacing import delete, write_instead
from regatta.stats.estimate import Interval

#: the reference of a shift: the level before it
BEFORE = "before"


def history_points(history: History) -> Iterator[Point]:
    """Yield one estimate per shift, and per change of the environment, of the first experiment after it and at its start.

    Further ones are means of each experiment: of the canary, and of other series at one speed of the host.
    """
    changes = (_change(history, one) for one in history.environment)
    return apart(chain(_shifts(history), _means(history), changes))


def _shifts(history: History) -> Iterator[Point]:
    """Yield the shifts that are told, and as another kind those of the host."""
    for series in history.series:
        for shift in told_shifts(series):
            yield _point(history, series, shift, SHIFT)
        if series.told is not series:
            for shift in series.shifts:
                if shift.cause == "host":
                    yield _point(history, series, shift, HOST_SHIFT)


def _means(history: History) -> Iterator[Point]:
    for series in history.series:
        own = series if series.is_canary else series.at_one_speed
        for point in () if own is None else own.points:
            of = history.experiments[point.experiment]
            yield estimate_point(
                of.experiment, _place_of(series), (series.metric, series.unit, series.parameters),
                (CANARY if series.is_canary else AT_ONE_SPEED, ""), point.mean, of.started_utc_ns, better=series.better,
            )  # fmt: skip


def _place_of(series: SeriesHistory) -> Place:
    """Return the place of a series. The size of a heap that is a factor may differ between experiments."""
    return replace(series.place, heap=series.place.heap.asked)


def _change(history: History, change: EnvironmentChange) -> Point:
    since = history.experiments[change.since]
    place = Place(change.host, "", "", "", "", "", Heap())
    text = f"{change.host or 'environment'}: {'; '.join(change.changes)}"
    return estimate_point(
        since.experiment, place, ("", "", {}), (ENVIRONMENT, ""), Interval(0, math.nan, math.nan, math.nan, history.level, ENVIRONMENT),
        since.started_utc_ns, label=text,
    )  # fmt: skip


def _point(history: History, series: SeriesHistory, shift: LevelShift, kind: str) -> Point:
    since = history.experiments[shift.since]
    return estimate_point(
        since.experiment, _place_of(series), (series.metric, "ratio", series.parameters), (kind, BEFORE), shift.ratio,
        since.started_utc_ns, p=shift.p, better=series.better, label=shift.words, false_rate=series.told.false_rate,
    )  # fmt: skip


def write_history_points(history: History, client: Client) -> int:
    """Replace what earlier histories of these experiments wrote into the database; return the number of points.

    Raises:
        StoreError: the database does not answer, or the account may not write or delete.
    """
    names = sorted({one.experiment for one in history.experiments})
    # Earlier versions wrote events.
    delete(client, EVENT, [tagged(experiment=names, kind=SHIFT)])
    conditions = [tagged(experiment=names, kind=OF_HISTORIES)]
    return write_instead(client, ESTIMATE, conditions, history_points(history))
