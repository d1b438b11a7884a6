"""Answering again: what an earlier answer of the same records wrote is taken away before the new one is written.

Both have one time, and the database would mix them: a field that the new answer lacks (an interval that is none any more)
or a series (a ratio to another baseline) would stay from the old one.
"""

from __future__ import annotations

from collections.abc import Callable

from regatta.host.errors import StoreError
from regatta.influx.answers import SYSTEM
from regatta.influx.client import Client, Unreachable
from regatta.influx.journal import any_of
from regatta.influx.points import ESTIMATE, VECTOR
from regatta.influx.rebuilding import delete

Say = Callable[[str], None]

#: Points of one answer that would take each other's place are a few ns apart; two records never begin so close together.
_APART_NS = 1_000


def drop_answer(client: Client, experiment: str, as_of_ns: int, say: Say) -> None:
    """Delete the estimates and the system vectors that the database has of an experiment at one time.

    Args:
        client: who may write.
        experiment: its name.
        as_of_ns: when its newest record began, UTC.
        say: told where the database does not delete, as InfluxDB 3 does not; then nothing is deleted.

    Raises:
        Unreachable: the database does not answer.
    """
    conditions = [
        any_of("experiment", [experiment]), f"time >= {as_of_ns:d}", f"time < {as_of_ns + _APART_NS:d}",
    ]  # fmt: skip
    try:
        delete(client, ESTIMATE, conditions)
        delete(client, VECTOR, [*conditions, any_of("kind", [SYSTEM])])
    except Unreachable:
        raise
    except StoreError as error:
        say(f"an earlier answer of the same records stays where it is not written over: {error}")
