"""Shifts in a history of experiments as points: Grafana shows them as annotations on its dashboards.

They belong to no journal: `regatta history` detects them, and more experiments can change the result. Earlier shifts of the
same
experiments are therefore deleted first.
"""

from __future__ import annotations

from collections.abc import Iterator

from regatta.answers.history.result import History
from regatta.influx.client import Client
from regatta.influx.journal import tagged
from regatta.influx.points import EVENT, SHIFT, Point, apart, make_point
from regatta.influx.replacing import write_instead


def shift_points(history: History) -> Iterator[Point]:
    """Yield one event per shift, of the first experiment after it and at the start of that experiment."""
    return apart(
        make_point(
            EVENT,
            (history.experiments[shift.since].experiment, series.place.host, SHIFT),
            {"text": shift.words, "cell": f"{series.title} · {series.metric}"},
            history.experiments[shift.since].started_utc_ns,
        )
        for series in history.series
        for shift in series.shifts
    )


def write_shifts(history: History, client: Client) -> int:
    """Replace the shifts of these experiments in the database; return their number.

    Raises:
        StoreError: the database does not answer, or the account may not write or delete.
    """
    names = sorted({one.experiment for one in history.experiments})
    return write_instead(client, EVENT, [tagged(experiment=names, kind=SHIFT)], shift_points(history))
