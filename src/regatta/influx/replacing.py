"""Taking away what the database has before it is written again: an experiment, an answer, points of no journal.

Without that the database would mix both: points of one series and one time are one, with the fields of either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack

from regatta.host.errors import StoreError
from regatta.influx.answers import SYSTEM
from regatta.influx.client import Client, Say, Unreachable
from regatta.influx.cursor import EVENTS, Cursors
from regatta.influx.journal import experiment_names, journal_hosts, tagged
from regatta.influx.lines import encode, identifier, quoted
from regatta.influx.points import CELL, ESTIMATE, EVENT, PLAN, SHIFT, VECTOR, Point
from regatta.influx.verifying import JOURNAL
from regatta.store.folder import Folder

#: Points of one answer that would take each other's place are a few ns apart; two records never begin so close together.
_APART_NS = 1_000


def drop(
    folder: Folder,
    client: Client,
    hosts: Sequence[str] | None = None,
    *,
    estimates: bool = True,
    say: Say = lambda text: None,
    lock_patience_s: float = float("inf"),
) -> None:
    """Drop an experiment's points, cursors first: killed in between, everything is written again.

    Args:
        folder: of the experiment.
        client: who may write.
        hosts: the journals of these alone; None: everything of the experiment.
        estimates: estimates, vectors, plans and descriptions of cells too; they are of no single host.
        say: told when another process is waited for.
        lock_patience_s: how long to wait for another process that ingests the same.

    Raises:
        StoreError: the database does not answer, or does not let the account delete.
    """
    cursors = Cursors(folder, client.settings)
    names = {*hosts} if hosts is not None else {*cursors.names(), *journal_hosts(folder), EVENTS}
    with ExitStack() as held:
        # All are held until all is deleted: what another process wrote meanwhile would be gone, and believed to be there.
        # Events come last, as in an ingest, which may hold its host's.
        for name in sorted(names, key=lambda name: (name == EVENTS, name)):
            cursor = held.enter_context(cursors.locked(name, patience_s=lock_patience_s, say=say))
            cursor.forget()
        _delete_all(folder, client, hosts, estimates)


def _delete_all(folder: Folder, client: Client, hosts: Sequence[str] | None, estimates: bool) -> None:
    conditions = [tagged(experiment=experiment_names(folder), host=hosts)]
    for measurement in JOURNAL:
        delete(client, measurement, conditions)
    if hosts is not None:
        return
    # Shifts come from several experiments, and `regatta history --ingest` replaces its own.
    delete(client, EVENT, [*conditions, f"{identifier('kind')} != {quoted(SHIFT)}"])
    for measurement in (ESTIMATE, VECTOR, PLAN, CELL) if estimates else ():
        delete(client, measurement, conditions)


def delete(client: Client, measurement: str, conditions: Sequence[str]) -> None:
    """Delete the points of a measurement that fulfil all conditions (InfluxQL, quoted); none are there is no error."""
    try:
        for _ in client.query(f"DELETE FROM {identifier(measurement)} WHERE {' AND '.join(conditions)}"):
            pass
    except Unreachable:
        raise
    except StoreError as error:
        if "measurement not found" in str(error):
            return
        raise


def drop_answer(client: Client, experiment: str, as_of_ns: int, say: Say) -> None:
    """Delete the estimates and the system vectors that an earlier answer of the same records wrote: both have one time.

    Args:
        client: who may write.
        experiment: its name.
        as_of_ns: when its newest record began, UTC.
        say: told where the database does not delete, as InfluxDB 3 does not; then nothing is deleted.

    Raises:
        Unreachable: the database does not answer.
    """
    conditions = [
        tagged(experiment=experiment), f"time >= {as_of_ns:d}", f"time < {as_of_ns + _APART_NS:d}",
    ]  # fmt: skip
    try:
        delete(client, ESTIMATE, conditions)
        delete(client, VECTOR, [*conditions, tagged(kind=SYSTEM)])
    except Unreachable:
        raise
    except StoreError as error:
        say(f"an earlier answer of the same records stays where it is not written over: {error}")


def write_instead(
    client: Client, measurement: str, conditions: Sequence[str], points: Iterable[Point]
) -> int:
    """Write points instead of those that fulfil all conditions; returns how many they are.

    Raises:
        StoreError: the database does not answer, or does not let the account write or delete.
    """
    delete(client, measurement, conditions)
    lines = [encode(point) for point in points]
    client.write(lines)
    return len(lines)
