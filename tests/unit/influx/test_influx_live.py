"""Sending beside what follows a host that is another machine: what is measured is in the database before the block ends."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from itertools import repeat
from pathlib import Path

import pytest

from helpers.faulty_proxy import faulty_proxy
from helpers.influx_ingests import database_values, journal_values, write_big_experiment
from helpers.influx_server import InfluxServer
from helpers.runner_plans import HOST, sh, write_plan
from helpers.waiting import wait_until
from regatta.cli.companion import Task, work_in_pauses
from regatta.cli.segment import _measure_elsewhere
from regatta.host.processes import process_start
from regatta.host.values.host import Host
from regatta.influx import live
from regatta.influx.live import PauseSender, sent_beside
from regatta.influx.settings import Settings, read_settings
from regatta.store.events import append_event
from regatta.store.folder import Folder

#: seconds of one task of a companion, which the kernel ends at this time: here, this process with all its tests
LIMIT_S = 500.0


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an answer that takes longer, nothing is sent for minutes: a busy machine must not make it so."""
    monkeypatch.setattr(live, "_ANSWER_S", 300.0)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(write_big_experiment(tmp_path / "made-up", hosts=("alpha",), segments=1))
    made.logs.mkdir(exist_ok=True)
    return made


def settings_of(server: InfluxServer, tmp_path: Path, url: str = "") -> tuple[Settings, str]:
    database = server.new_database()
    return read_settings(server.write_settings(tmp_path / "settings", database, url=url)), database


def test_what_a_host_elsewhere_measures_is_sent_while_it_is_followed(
    folder: Folder, influx_server: InfluxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_EVERY_S", 0.05)
    settings, database = settings_of(influx_server, tmp_path)
    (path,) = (folder.journal / "alpha").glob("0*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"")
    said: list[str] = []
    with sent_beside(folder, "alpha", settings, said.append):
        for count in (10, 20, 30):
            with path.open("ab") as file:
                file.write(b"".join(lines[count - 10 : count]))
            append_event(folder.path, "segment_started", "alpha", segment=count)
            wait_until(
                lambda: database_values(influx_server, database) == journal_values(folder.path), "the records"
            )
            wait_until(lambda wanted=count: segments(influx_server, database)[-1:] == [wanted], "the event")
    assert said == []


def test_nothing_is_sent_from_a_node_of_slurm_that_is_this_machine_until_it_has_measured(
    folder: Folder, influx_server: InfluxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_EVERY_S", 0.05)
    settings, database = settings_of(influx_server, tmp_path)
    folder.state.mkdir(exist_ok=True)
    node = folder.state / "alpha.node.json"
    node.write_text(json.dumps({"pid": os.getpid(), "pid_start": process_start(os.getpid())}))
    with sent_beside(folder, "alpha", settings, print):
        time.sleep(0.5)
        assert influx_server.counts(database) == {}
        node.unlink()
        wait_until(lambda: influx_server.counts(database), "points")


def segments(server: InfluxServer, database: str) -> list[int]:
    """What the events in the database say of segments, in their order."""
    return [row[1] for one in server.query("SELECT segment FROM event", database) for row in one["values"]]


def test_a_database_that_hangs_or_refuses_holds_up_no_host_elsewhere(
    folder: Folder, influx_server: InfluxServer, tmp_path: Path
) -> None:
    for fault in ("hang", "503", "400 of nobody"):
        with faulty_proxy(influx_server.port, repeat(fault)) as proxy:
            settings, _ = settings_of(influx_server, tmp_path, proxy.url)
            with sent_beside(folder, "alpha", settings, lambda text: None):
                wait_until(lambda proxy=proxy, fault=fault: proxy.done[fault], "a request")
    settings, _ = settings_of(influx_server, tmp_path)
    (tmp_path / "settings" / "writer.password").write_text("wrong")
    said: list[str] = []
    with sent_beside(folder, "alpha", settings, said.append):
        wait_until(lambda: said, "the refusal")
    assert "write.password_file" in said[0]


def test_nothing_is_sent_for_a_runner_that_no_longer_waits(
    folder: Folder, influx_server: InfluxServer, tmp_path: Path
) -> None:
    settings, database = settings_of(influx_server, tmp_path)
    ours, theirs = socket.socketpair()
    with theirs:
        ours.sendall(b"p")
        ours.close()
        look = PauseSender(folder, "alpha", settings, print).look
        work_in_pauses(theirs.fileno(), [Task(look, LIMIT_S)], print)
    assert influx_server.counts(database) == {}


def test_events_and_records_are_sent_in_a_pause(
    folder: Folder, influx_server: InfluxServer, tmp_path: Path
) -> None:
    settings, database = settings_of(influx_server, tmp_path)
    append_event(folder.path, "segment_started", "alpha", segment=7)
    ours, theirs = socket.socketpair()
    with ours, theirs:

        def runner() -> None:
            for _ in range(2):
                ours.sendall(b"p")
                assert ours.recv(1) == b"d"
            ours.shutdown(socket.SHUT_RDWR)

        thread = threading.Thread(target=runner)
        thread.start()
        look = PauseSender(folder, "alpha", settings, print).look
        work_in_pauses(os.dup(theirs.fileno()), [Task(look, LIMIT_S)], print)
        thread.join(300)
    assert database_values(influx_server, database) == journal_values(folder.path)
    assert segments(influx_server, database) == [7]


def test_the_job_that_follows_a_host_sends_what_it_takes_over(
    influx_server: InfluxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, hold, marks = influx_server.new_database(), tmp_path / "hold", tmp_path / "marks"
    settings = influx_server.write_settings(tmp_path / "settings", database)
    monkeypatch.setenv("REGATTA_INFLUX", str(settings))
    monkeypatch.setenv("REGATTA_HOST_LOCK", str(tmp_path / "host.lock"))
    monkeypatch.setattr(live, "_EVERY_S", 0.05)
    hold.touch()
    marks.mkdir()
    script = (
        f"n=$(ls {marks} | wc -l); touch {marks}/$n; while [ -e {hold} ] && [ $n -ge 2 ]; do sleep 0.05; done"
    )
    folder = Folder(tmp_path / "results" / "small")
    write_plan(folder, [sh("waits", script)], 3)
    receipt = folder.receipts / HOST / "00000.json"
    found: list[bool] = []

    def watch() -> None:
        try:
            deadline = time.monotonic() + 300
            while measured(influx_server, database) < 2 and time.monotonic() < deadline:
                time.sleep(0.2)
            found.append(measured(influx_server, database) == 2)
            found.append(receipt.exists())
        finally:
            hold.unlink()

    thread = threading.Thread(target=watch)
    thread.start()
    # This machine, reached as another one.
    host = Host(HOST, "local", python=sys.executable, root=str(tmp_path / "root"))
    assert _measure_elsewhere(folder, host, 0, "ssh", receipt, False) == 0
    thread.join(300)
    assert found == [True, False]


def measured(server: InfluxServer, database: str) -> int:
    """How many invocations are in the database."""
    return sum(
        row[1]
        for one in server.query("SELECT count(iteration_rows) FROM invocation", database)
        for row in one["values"]
    )
