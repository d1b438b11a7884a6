"""Shifts in a history of experiments as points: estimates of kind `shift`, with the tags of the shifted series.

Grafana shows them as annotations. An alert can name only tags. Shifts belong to no journal: `regatta history`
detects them, and more experiments can change the result. Therefore earlier shifts of the same experiments are
deleted first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from regatta.answers.history.compute import History, LevelShift, SeriesHistory
from regatta.influx.client import Client
from regatta.influx.journal import tagged
from regatta.influx.points import ESTIMATE, EVENT, SHIFT, Point, apart, estimate_point
from regatta.influx.replacing import delete, write_instead

#: the reference of a shift: the level before it
BEFORE = "before"


def shift_points(history: History) -> Iterator[Point]:
    """Yield one estimate per shift, of the first experiment after it and at the start of that experiment."""
    return apart(_point(history, series, shift) for series in history.series for shift in series.shifts)


def _point(history: History, series: SeriesHistory, shift: LevelShift) -> Point:
    since = history.experiments[shift.since]
    # The size of a heap that is a factor may differ between experiments.
    place = replace(series.place, heap=series.place.heap.asked)
    return estimate_point(
        since.experiment, place, (series.metric, "ratio", series.parameters), (SHIFT, BEFORE), shift.ratio,
        since.started_utc_ns, p=shift.p, better=series.better, label=shift.words, false_rate=series.false_rate,
    )  # fmt: skip


def write_shifts(history: History, client: Client) -> int:
    """Replace the shifts of these experiments in the database; return their number.

    Raises:
        StoreError: the database does not answer, or the account may not write or delete.
    """
    names = sorted({one.experiment for one in history.experiments})
    conditions = [tagged(experiment=names, kind=SHIFT)]
    # Earlier versions wrote events.
    delete(client, EVENT, conditions)
    return write_instead(client, ESTIMATE, conditions, shift_points(history))
