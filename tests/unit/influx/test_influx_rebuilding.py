"""Rebuilding an experiment's points while others write them, too."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from helpers.influx_ingests import assert_all_there, ingest, write_big_experiment
from helpers.influx_server import InfluxServer
from regatta.influx import replacing
from regatta.influx.client import Client
from regatta.influx.ingesting import Ingest
from regatta.influx.settings import read_settings
from regatta.store.events import append_event
from regatta.store.folder import Folder


def test_what_is_ingested_while_it_is_rebuilt_is_not_lost(
    influx_server: InfluxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = influx_server.new_database()
    settings = influx_server.write_settings(tmp_path / "settings", database)
    # Who may not ask cannot notice afterwards that something is gone.
    blind = influx_server.write_settings(tmp_path / "blind", database, reader=None)
    folder = write_big_experiment(tmp_path / "made-up")
    append_event(folder, "experiment_started")
    assert ingest(folder, settings).code == 0
    delete, waits, others = replacing.delete, threading.Event(), []

    def ingest_beside() -> None:
        other = Ingest(Folder(folder), Client(read_settings(settings)), say=lambda text: waits.set())
        for host in other.hosts():
            other.host(host)
        other.events()
        waits.set()

    def delete_late(*arguments: object) -> None:
        if not others:
            # The cursors are forgotten, and the points are still there.
            others.append(threading.Thread(target=ingest_beside))
            others[0].start()
            assert waits.wait(60)
        delete(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(replacing, "delete", delete_late)
    assert ingest(folder, blind, "--rebuild").code == 0
    others[0].join(60)
    assert not others[0].is_alive()
    assert_all_there(influx_server, database, folder, settings)
    assert influx_server.query("SELECT count(text) FROM event", database)[0]["values"][0][1] == 1
