"""Shifts that a history of experiments has shown, as points: Grafana draws them into its boards as annotations.

They are of no journal: `regatta history` finds them, and finds others when more experiments are there. Those that were written
of its experiments before are therefore taken away first.
"""

from __future__ import annotations

from collections.abc import Iterator

from regatta.answers.history.result import History
from regatta.influx.client import Client
from regatta.influx.journal import tagged
from regatta.influx.points import EVENT, SHIFT, Point, apart, make_point
from regatta.influx.replacing import write_instead


def shift_points(history: History) -> Iterator[Point]:
    """One event a shift, of the first experiment after it and at the time when that began."""
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
    """Write the shifts instead of those that the database has of these experiments; returns how many they are.

    Raises:
        StoreError: the database does not answer, or does not let the account write or delete.
    """
    names = sorted({one.experiment for one in history.experiments})
    return write_instead(client, EVENT, [tagged(experiment=names, kind=SHIFT)], shift_points(history))
