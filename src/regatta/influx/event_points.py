"""Events of an experiment as points."""

from __future__ import annotations

from regatta.influx.points import EVENT, Point, make_point
from regatta.store.events import Event


def event_point(experiment: str, event: Event) -> Point:
    """The point of an event. `text` is always there, for it is what is counted."""
    return make_point(EVENT, (experiment, event.host, event.kind), {"text": "", **event.fields}, event.utc_ns)
