"""Small event traces from plain dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from regatta.models.kernel_traces.model import (
    EVENTS,
    EVENTS_FILE,
    NONE,
    OBJECTS,
    OBJECTS_FILE,
    Facts,
    Trace,
    write_facts,
)

#: column -> value of rows that do not name it
EVENT_DEFAULTS = {
    "time_ns": 0,
    "kind": 0,
    "cpu": 0,
    "actor": NONE,
    "object": NONE,
    "peer": NONE,
    "request": 0,
    "value": 0,
}
OBJECT_DEFAULTS = {"parent": NONE, "kind": "thread", "name": "", "pid": 0, "tid": 0}


def write_trace(
    folder: Path,
    events: Sequence[Mapping[str, Any]],
    objects: Sequence[Mapping[str, Any]],
    facts: Facts | None = None,
) -> Trace:
    """Write a trace; events are sorted by time (stably), and objects are numbered by their position.

    Args:
        folder: is created if missing.
        events: rows of `events.parquet`; a column that a row does not name is NONE or 0, as in imported traces.
        objects: rows of `objects.parquet`; likewise, of kind "thread" unless named.
        facts: default: the window and the CPUs of the events.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = sorted(
        ({**EVENT_DEFAULTS, **event} for event in events), key=lambda row: int(row["time_ns"])
    )
    things = [{"id": number, **OBJECT_DEFAULTS, **one} for number, one in enumerate(objects)]
    for table, name in (
        (pa.Table.from_pylist(rows, EVENTS), EVENTS_FILE),
        (pa.Table.from_pylist(things, OBJECTS), OBJECTS_FILE),
    ):
        pq.write_table(table, folder / name)
    if facts is None:
        times = [int(row["time_ns"]) for row in rows] or [0]
        facts = Facts(times[0], times[-1], 1 + max((int(row["cpu"]) for row in rows), default=0))
    return write_facts(folder, facts)
