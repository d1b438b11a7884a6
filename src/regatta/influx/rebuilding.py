"""Dropping what the database has of an experiment, so that it can be written again from the journal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from regatta.host.errors import StoreError
from regatta.influx.client import Client, Say, Unreachable
from regatta.influx.cursor import EVENTS, Cursors
from regatta.influx.journal import any_of, experiment_names, journal_hosts
from regatta.influx.lines import identifier, quoted
from regatta.influx.points import CELL, ESTIMATE, EVENT, PLAN, VECTOR
from regatta.influx.verifying import JOURNAL
from regatta.store.folder import Folder

_SHIFT = "shift"


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
    conditions = [any_of("experiment", experiment_names(folder))]
    if hosts is not None:
        conditions.append(any_of("host", hosts))
    for measurement in JOURNAL:
        delete(client, measurement, conditions)
    if hosts is not None:
        return
    # Shifts come from several experiments, and `regatta history --ingest` replaces its own.
    delete(client, EVENT, [*conditions, f"{identifier('kind')} != {quoted(_SHIFT)}"])
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
