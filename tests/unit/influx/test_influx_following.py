"""Following a run: when it has ended, and what it tells of progress meanwhile."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from helpers.influx_ingests import CELLS, write_big_experiment
from helpers.influx_server import InfluxServer
from helpers.waiting import wait_until
from regatta.host.errors import StoreError
from regatta.host.journal.record_shape import STATUSES
from regatta.host.processes import process_start
from regatta.influx import client, following
from regatta.influx.client import Client, Unreachable
from regatta.influx.cursor import Cursor
from regatta.influx.following import follow
from regatta.influx.ingesting import Ingest
from regatta.influx.settings import read_settings
from regatta.store.events import append_event, events_path, read_events
from regatta.store.folder import Folder


@pytest.fixture
def work(influx_server: InfluxServer, tmp_path: Path) -> Ingest:
    folder = write_big_experiment(tmp_path / "made-up", hosts=("alpha",), segments=1)
    settings = read_settings(
        influx_server.write_settings(tmp_path / "settings", influx_server.new_database())
    )
    return Ingest(Folder(folder), Client(settings))


def say_how_far(
    work: Ingest, index: int | None, waiting_for: dict[str, str] | None = None, **counts: int
) -> None:
    """As a runner that measures or waits does; it is this process."""
    state = {"host": "alpha", "segment": 0, "cell": "a cell", "index": index, "since_utc_s": time.time(), "counts": counts,
             "pid": os.getpid(), "pid_start": process_start(os.getpid()), "waiting_for": waiting_for}  # fmt: skip
    work.folder.state.mkdir(exist_ok=True)
    new = work.folder.state / "alpha.json.new"
    new.write_text(json.dumps(state))
    new.replace(work.folder.state / "alpha.json")


def in_a_thread(work: Ingest, said: list[str]) -> threading.Thread:
    """Following, which looks all the time."""
    stop = threading.Event()
    thread = threading.Thread(target=follow, args=(work, stop, said.append, None, 0.01), daemon=True)
    thread.start()
    return thread


def test_a_workflow_that_has_ended_is_written_and_not_waited_for_long(
    work: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_QUIET_S", 0.1)
    append_event(work.folder.path, "experiment_started")
    append_event(work.folder.path, "experiment_ended", text="complete")
    follow(work, threading.Event(), print, None, 0.01)
    assert (work.written.records, work.written.events) == (30, 2)


def test_the_end_of_an_earlier_run_is_not_the_end_of_the_next(
    work: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_QUIET_S", 3600.0)
    append_event(work.folder.path, "experiment_started")
    append_event(work.folder.path, "experiment_ended", text="complete")
    thread = in_a_thread(work, [])
    thread.join(0.5)
    assert thread.is_alive()
    append_event(work.folder.path, "experiment_started")
    thread.join(0.3)
    assert thread.is_alive()
    append_event(work.folder.path, "experiment_ended", text="complete")
    thread.join(300)
    assert not thread.is_alive()
    assert work.written.events == 4


def test_a_workflow_that_was_killed_is_not_followed_for_ever(
    work: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_ABANDONED_S", 0.3)
    append_event(work.folder.path, "experiment_started")
    said: list[str] = []
    say_how_far(work, 3)
    thread = in_a_thread(work, said)
    thread.join(1)
    assert thread.is_alive(), "a runner is at work"
    (work.folder.state / "alpha.json").unlink()
    thread.join(300)
    assert not thread.is_alive()
    assert "not reported its end" in said[-1]
    assert work.written.records == 30


def test_a_host_that_waits_for_another_run_is_told_until_it_measures(
    work: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_PROGRESS_EVERY_S", 0.0)

    def told() -> list[tuple[str, str, str]]:
        found = [
            (e.kind, e.host, e.fields.get("text", "")) for e in read_events(events_path(work.folder.path))
        ]
        return [event for event in found if event[0].startswith("waiting")]

    append_event(work.folder.path, "experiment_started")
    say_how_far(work, None, waiting_for={"experiment": "demo", "since": "noon"})
    stop = threading.Event()
    thread = threading.Thread(target=follow, args=(work, stop, print, None, 0.01))
    thread.start()
    waiting = ("waiting", "alpha", "waiting for host alpha, used by demo since noon")
    wait_until(lambda: told() == [waiting], "word that it waits")
    say_how_far(work, 3)
    wait_until(lambda: told() == [waiting, ("waiting_ended", "alpha", "")], "word that it waits no more")
    stop.set()
    thread.join(300)
    assert not thread.is_alive()


def test_a_workflow_that_began_again_is_waited_for(work: Ingest) -> None:
    for kind in ("experiment_started", "experiment_ended", "experiment_started"):
        append_event(work.folder.path, kind)
    stop = threading.Event()
    thread = threading.Thread(target=follow, args=(work, stop, print, None, 0.01))
    thread.start()
    thread.join(0.3)
    assert thread.is_alive()
    stop.set()
    thread.join(300)
    assert not thread.is_alive()


def test_after_ctrl_c_a_database_that_is_down_is_not_waited_for(
    influx_server: InfluxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_big_experiment(tmp_path / "made-up")
    settings = influx_server.write_settings(tmp_path / "settings", influx_server.new_database())
    forever = {"patience_s": float("inf")}
    clients = [Client(read_settings(settings), purpose, **forever) for purpose in ("write", "read")]
    work = Ingest(Folder(folder), clients[0], reader=clients[1])
    for host in work.hosts():
        work.host(host)
    work.ask_again()
    for one in clients:
        monkeypatch.setattr(one, "_send", _unanswered)
    work.last_time(0.2)
    ended: list[StoreError] = []

    def last() -> None:
        for host in work.hosts():
            try:
                work.host(host)
            except StoreError as error:
                ended.append(error)

    thread = threading.Thread(target=last, daemon=True)
    thread.start()
    thread.join(300)
    for one in clients:
        one.stop.set()
    assert not thread.is_alive()
    assert [type(error) for error in ended] == [Unreachable, Unreachable]


def _unanswered(*arguments: object) -> None:
    raise client._Passing("Connection refused")


def test_without_a_workflow_it_ends_when_nobody_has_measured_for_a_while(
    work: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_QUIET_S", 0.1)
    say_how_far(work, 3)
    thread = threading.Thread(target=follow, args=(work, threading.Event(), print, None, 0.01))
    thread.start()
    thread.join(0.5)
    assert thread.is_alive(), "a runner is at work"
    (work.folder.state / "alpha.json").unlink()
    thread.join(300)
    assert not thread.is_alive()
    assert work.written.records == 30


def test_how_far_a_host_is_becomes_an_event_now_and_then(
    work: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_PROGRESS_EVERY_S", 0.05)
    stop = threading.Event()
    say_how_far(work, 1)
    thread = threading.Thread(target=follow, args=(work, stop, print, None, 0.01))
    thread.start()

    def told() -> list[dict[str, object]]:
        events = read_events(events_path(work.folder.path))
        return [event.fields for event in events if event.kind == "progress" and event.host == "alpha"]

    for index, counts in ((1, {}), (2 * len(CELLS) + 1, {**dict.fromkeys(STATUSES, 1), "ok": 9})):
        say_how_far(work, index, **counts)
        deadline = time.monotonic() + 300
        while not told() or told()[-1]["recorded"] != index:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    stop.set()
    thread.join(300)
    first, last = told()
    assert first == {"planned": 30 * len(CELLS), "recorded": 1, "failed": 0, "perturbed": 0, "cell": "a cell"}
    assert (last["failed"], last["perturbed"]) == (3, 1), "failed, timeout, crashed: an oom is a result"
    assert isinstance(last["remaining_s"], float)
    assert last["remaining_s"] > 0


def test_events_that_were_written_when_ctrl_c_came_are_counted(
    work: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_event(work.folder.path, "experiment_started")
    save = Cursor.save

    def interrupted(cursor: Cursor) -> None:
        save(cursor)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Cursor, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        work.events()
    monkeypatch.setattr(Cursor, "save", save)
    work.events()
    assert work.written.events == 1
