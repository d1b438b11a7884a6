"""Shifts in a history of experiments as points: estimates of kind `shift`, with the tags of the shifted series.

Grafana shows them as annotations. An alert can name only tags. Shifts belong to no journal: `regatta history`
detects them, and more experiments can change the result. Therefore earlier shifts of the same experiments are
deleted first.
"""

from __future__ import annotations

from collections.abc import Iterator

from regatta.answers.history.result import History, LevelShift, SeriesHistory
from regatta.host.values.cell import heap_text
from regatta.influx.client import Client
from regatta.influx.journal import tagged
from regatta.influx.points import ESTIMATE, EVENT, SHIFT, Point, apart, make_point
from regatta.influx.replacing import delete, write_instead
from regatta.store.columns import canonical_json

#: the reference of a shift: the level before it
BEFORE = "before"


def shift_points(history: History) -> Iterator[Point]:
    """Yield one estimate per shift, of the first experiment after it and at the start of that experiment."""
    return apart(_point(history, series, shift) for series in history.series for shift in series.shifts)


def _point(history: History, series: SeriesHistory, shift: LevelShift) -> Point:
    since, place, ratio = history.experiments[shift.since], series.place, shift.ratio
    # The size of a heap that is a factor may differ between experiments.
    heap = place.heap.asked
    tags = (
        since.experiment, place.host, place.platform, place.benchmark, place.runtime, place.collector, place.modifiers,
        heap_text(heap.factor, heap.mib), series.metric, "ratio", canonical_json(dict(series.parameters)), SHIFT, BEFORE,
    )  # fmt: skip
    fields = {
        "n": ratio.n, "point": ratio.point, "low": ratio.low, "high": ratio.high, "level": ratio.level,
        "method": ratio.method, "reason": ratio.reason, "p": shift.p, "better": series.better, "label": shift.words,
        "heap_factor": heap.factor, "heap_mib": heap.mib, "false_rate": series.false_rate,
    }  # fmt: skip
    return make_point(ESTIMATE, tags, fields, since.started_utc_ns)


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
