"""Delete points before they are written again: an experiment, an answer, or points of no journal.

Otherwise the database would mix both: points of one series and time merge their fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from regatta.host.errors import StoreError
from regatta.influx.client import Client, Say, Unreachable
from regatta.influx.cursor import EVENTS, Cursors
from regatta.influx.journal import experiment_names, journal_hosts, tagged
from regatta.influx.lines import encode, identifier, quoted
from regatta.influx.points import (
    ESTIMATE,
    EVENT,
    NO_LONGER_WRITTEN,
    OF_HISTORIES,
    OF_SETS,
    SYSTEM,
    VECTOR,
    Point,
)
from regatta.influx.verifying import JOURNAL
from regatta.store.folder import Folder

#: Points of one answer that would collide are a few ns apart; two records never begin so close together.
_APART_NS = 1_000
#: The estimates of a history come from several experiments; `regatta history --ingest` replaces them.
_NOT_OF_A_HISTORY = " AND ".join(f"{identifier('kind')} != {quoted(kind)}" for kind in OF_HISTORIES)


def drop(
    folder: Folder,
    client: Client,
    hosts: Sequence[str] | None = None,
    *,
    estimates: bool = True,
    say: Say = lambda text: None,
    lock_patience_s: float = float("inf"),
) -> None:
    """Drop the points of an experiment. Cursors go first: after a kill in between, everything is written again.

    Args:
        hosts: only the journals of these; None: the whole experiment.
        estimates: also drop estimates and vectors, which belong to no single host.
        say: called when waiting for another process.
        lock_patience_s: how long to wait for another process that ingests the same.

    Raises:
        StoreError: the database does not answer, or the account may not delete.
    """
    cursors = Cursors(folder, client.settings)
    names = {*hosts} if hosts is not None else {*cursors.names(), *journal_hosts(folder), EVENTS}
    with ExitStack() as held:
        # Hold all locks until the end: otherwise points of another process would be deleted but recorded as written.
        # Events come last, as in an ingest, which may hold the lock of its host.
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
    delete(client, EVENT, conditions)
    if estimates:
        delete(client, ESTIMATE, [*conditions, _NOT_OF_A_HISTORY])
        for measurement in (VECTOR, *NO_LONGER_WRITTEN):
            delete(client, measurement, conditions)


def delete(client: Client, measurement: str, conditions: Sequence[str]) -> None:
    """Delete the points of a measurement that match all conditions (InfluxQL, quoted); no match is not an error."""
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
    """Delete the estimates and system vectors of an earlier answer from the same records: both have the same time.

    Pairs and rankings are deleted at all times: with other alternatives, those of earlier answers are wrong.

    Args:
        as_of_ns: start of its newest record, UTC.
        say: called if the database does not support deletion, such as InfluxDB 3; then nothing is deleted.

    Raises:
        Unreachable: the database does not answer.
    """
    own = tagged(experiment=experiment)
    conditions = [own, f"time >= {as_of_ns:d}", f"time < {as_of_ns + _APART_NS:d}"]
    with _told_if_refused(say):
        delete(client, ESTIMATE, [*conditions, _NOT_OF_A_HISTORY])
        delete(client, ESTIMATE, [tagged(experiment=experiment, kind=OF_SETS)])
        delete(client, VECTOR, [*conditions, tagged(kind=SYSTEM)])


def drop_points(client: Client, measurement: str, conditions: Sequence[str], say: Say) -> None:
    """Delete the points that match all conditions. `say` and the errors are those of `drop_answer`."""
    with _told_if_refused(say):
        delete(client, measurement, conditions)


@contextmanager
def _told_if_refused(say: Say) -> Iterator[None]:
    try:
        yield
    except Unreachable:
        raise
    except StoreError as error:
        say(f"cannot delete an earlier answer of the same records; some of its points can remain: {error}")


def write_instead(
    client: Client, measurement: str, conditions: Sequence[str], points: Iterable[Point]
) -> int:
    """Replace the points that match all conditions; return the number of new points.

    Raises:
        StoreError: the database does not answer, or the account may not write or delete.
    """
    delete(client, measurement, conditions)
    lines = [encode(point) for point in points]
    client.write(lines)
    return len(lines)
