"""Whatever happened to the database behind our back: an ingest notices it, and mends it or says so."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from helpers.influx_ingests import (
    Said,
    assert_all_there,
    database_values,
    ingest,
    journal_values,
    some_records,
    write_big_experiment,
)
from helpers.influx_server import InfluxServer
from helpers.synthetic_journal import START_NS, write_journal
from regatta.host.journal.record import encode_record
from regatta.influx import held
from regatta.influx.client import Client
from regatta.influx.ingesting import Ingest
from regatta.influx.settings import read_settings
from regatta.store.events import append_event, events_path
from regatta.store.folder import Folder


class Place:
    """An experiment that is ingested, with an event, into a database of its own."""

    def __init__(self, server: InfluxServer, tmp_path: Path) -> None:
        self.server = server
        self.tmp_path = tmp_path
        self.database = server.new_database()
        self.settings = server.write_settings(tmp_path / "settings", self.database, batch_points=200)
        self.folder = write_big_experiment(tmp_path / "made-up")
        append_event(self.folder, "experiment_started")
        assert self.ingest().code == 0

    def ingest(self, *options: str) -> Said:
        return ingest(self.folder, self.settings, *options)

    def query(self, query: str) -> None:
        self.server.query(query, self.database)

    def events(self) -> int:
        found = self.server.query("SELECT count(text) FROM event WHERE kind != 'plan'", self.database)
        return int(found[0]["values"][0][1]) if found else 0

    def all_there(self) -> None:
        assert_all_there(self.server, self.database, self.folder, self.settings)
        assert self.events() == 1


@pytest.fixture
def place(influx_server: InfluxServer, tmp_path: Path) -> Place:
    return Place(influx_server, tmp_path)


def test_a_dropped_database_is_told_by_its_key_in_the_settings(place: Place) -> None:
    place.server.query(f'DROP DATABASE "{place.database}"')
    for options in ((), ("--host", "alpha")):
        said = place.ingest(*options)
        assert said.code == 3
        assert f"influx.yml:3:database: expected the database '{place.database}'" in said.err
    receipt = place.tmp_path / "receipt.json"
    assert place.ingest("--host", "alpha", "--receipt", str(receipt)).code == 0
    assert "database not found" in json.loads(receipt.read_text())["reason"]
    place.server.make_database(place.database)
    assert place.ingest().code == 0
    place.all_there()


def test_an_account_that_may_not_ask_is_told_once_that_a_loss_would_not_be_noticed(place: Place) -> None:
    place.settings = place.server.write_settings(place.tmp_path / "blind", place.database, reader=None)
    said = place.ingest()
    assert said.code == 0
    assert said.err.count("cannot check") == 1
    assert "not authorized" in said.err


@pytest.mark.parametrize("which", ["some of a host", "all but one that somebody else wrote", "events"])
def test_what_is_lacking_is_written_again(place: Place, which: str) -> None:
    if which == "some of a host":
        # As a restored backup of yesterday has it.
        place.query("DELETE FROM invocation WHERE host = 'beta' AND time > 1700000010000000000")
        place.query("DELETE FROM iteration WHERE host = 'beta' AND time > 1700000010000000000")
        place.query("DELETE FROM host_state WHERE host = 'beta' AND time > 1700000010000000000")
    elif which == "events":
        place.query("DELETE FROM event")
    else:
        for measurement in ("iteration", "invocation", "host_state", "event"):
            place.query(f"DELETE FROM {measurement}")
        place.server.write('event,experiment=other,host=none,kind=stage text="x" 5', place.database)
    said = place.ingest()
    assert said.code == 0
    assert ("records of beta: writing" in said.err) == (which != "events")
    if which.startswith("all"):
        place.query("DELETE FROM event WHERE experiment = 'other'")
    place.all_there()
    assert json.loads(place.ingest("--json").out)["written"] == 0


def test_events_are_not_forgotten_by_a_second_ingest_after_one_that_was_interrupted(place: Place) -> None:
    for measurement in ("iteration", "invocation", "host_state", "event"):
        place.query(f"DELETE FROM {measurement}")
    work = Ingest(Folder(place.folder), Client(read_settings(place.settings)),
                  reader=Client(read_settings(place.settings), "read"))  # fmt: skip
    for host in work.hosts():
        work.host(host)
    # Killed here: the next one has no reader, so that it knows only what the first left behind.
    place.server.write_settings(place.tmp_path / "settings", place.database, batch_points=200, reader=None)
    assert place.ingest().code == 0
    place.server.write_settings(place.tmp_path / "settings", place.database, batch_points=200)
    place.all_there()


def test_a_database_that_is_emptied_while_a_run_is_followed_is_filled_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "_ASK_EVERY_S", 0.0)
    work = Ingest(Folder(place.folder), Client(read_settings(place.settings)),
                  reader=Client(read_settings(place.settings), "read"))  # fmt: skip
    work.host("alpha")
    for measurement in ("iteration", "invocation", "host_state"):
        place.query(f"DELETE FROM {measurement} WHERE host = 'alpha'")
    work.host("alpha")
    place.all_there()


def test_what_expired_is_neither_missed_nor_sent_again(influx_server: InfluxServer, tmp_path: Path) -> None:
    database = influx_server.new_database()
    settings = influx_server.write_settings(tmp_path / "settings", database)
    folder = write_big_experiment(tmp_path / "made-up", hosts=("alpha",), segments=1)
    recent = time.time_ns() - 3600 * 10**9
    write_journal(folder, some_records(random.Random(2), "alpha", 1, 30, 20, recent), "alpha", 1)
    assert ingest(folder, settings).code == 0
    # Old points go as soon as the policy is checked, which is every second here.
    influx_server.query(f'CREATE RETENTION POLICY w ON "{database}" DURATION 7d REPLICATION 1 DEFAULT')
    new = {at: value for at, value in journal_values(folder).items() if at[1] == 1}
    for path in folder.glob("influx/*/*"):
        path.unlink()
    ingest(folder, settings)
    for path in folder.glob("influx/*/alpha.json"):
        # As it is when they were taken, and have expired since.
        path.write_text(json.dumps({**json.loads(path.read_text()), "refused": 0, "refusal": ""}))
    again = ingest(folder, settings, "--json")
    assert again.code == 0, again.err
    assert "writing all points again" not in again.err
    assert json.loads(again.out)["written"] == 0
    with events_path(folder).open("ab") as file:
        file.write(encode_record({"v": 1, "utc_ns": START_NS, "kind": "provisioned", "host": "none"}))
        file.write(encode_record({"v": 1, "utc_ns": recent, "kind": "stage", "host": "none"}))
    influx_server.query("DELETE FROM invocation", database)
    refilled = ingest(folder, settings)
    assert refilled.code == 0, refilled.err
    assert "writing all points again" in refilled.err
    assert database_values(influx_server, database) == new
    assert ingest(folder, settings).code == 0


def test_a_host_that_lacks_records_although_all_were_written_again_is_told_and_not_written_for_ever(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a database does that drops silently what is older than its policy, and does not tell of policies.
    place.query("DELETE FROM invocation WHERE host = 'alpha' AND time < 1700000010000000000")
    write = Client.write

    def forgetful(client: Client, blocks: list[bytes]) -> None:
        write(client, blocks)
        place.query("DELETE FROM invocation WHERE host = 'alpha' AND time < 1700000010000000000")

    monkeypatch.setattr(Client, "write", forgetful)
    said = place.ingest("--host", "alpha")
    assert "writing all points again" in said.err
    assert "records of alpha; " in said.err
    assert "--verify" in said.err
    assert "writing all points again" not in place.ingest("--host", "alpha").err


def another(place: Place) -> Path:
    """Another run under the same name, in another folder."""
    return write_big_experiment(
        place.tmp_path / "elsewhere" / "made-up", seed=2, started_ns=1_700_500_000_000_000_000
    )


def test_another_experiment_of_this_name_is_not_mixed_with_the_one_that_is_there(place: Place) -> None:
    mine, other = place.folder, another(place)
    place.folder = other
    receipt = place.tmp_path / "receipt.json"
    said = place.ingest()
    assert said.code == 3
    assert "records of another experiment" in said.err
    assert "--rebuild" in said.err
    assert place.ingest("--host", "alpha", "--receipt", str(receipt)).code == 0
    assert "another experiment" in json.loads(receipt.read_text())["reason"]
    assert json.loads(receipt.read_text())["waiting"] > 0
    assert database_values(place.server, place.database) == journal_values(mine)
    assert place.ingest("--rebuild").code == 0
    assert_all_there(place.server, place.database, other, place.settings)
    # And the first one, which has a cursor, does not believe that it is there.
    place.folder = mine
    said = place.ingest()
    assert said.code == 3
    assert "records of another experiment" in said.err
    assert place.ingest("--rebuild").code == 0
    place.all_there()


def test_a_lost_cursor_does_not_make_another_experiment_of_it(place: Place) -> None:
    for path in place.folder.glob("influx/*/*"):
        path.unlink()
    assert json.loads(place.ingest("--json").out)["records"] == 120
    place.all_there()
