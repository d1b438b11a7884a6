"""A database that hangs costs a workflow its patience once, and not after every segment."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.influx_ingests import Said, ingest, write_big_experiment
from helpers.waiting import wait_until
from regatta.influx.client import Unreachable
from regatta.influx.live import HELD_S, attempt, forget_attempts
from regatta.store.folder import Folder
from regatta.store.receipts import sent_receipt

HOST = "alpha"


class Hung:
    """Takes connections and says nothing."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.taken: list[socket.socket] = []
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        try:
            while True:
                self.taken.append(self.listening.accept()[0])
        except OSError:
            return

    def close(self) -> None:
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        for one in self.taken:
            one.close()


@pytest.fixture
def hung() -> Iterator[Hung]:
    server = Hung()
    yield server
    server.close()


def test_a_database_that_hangs_is_waited_for_once_and_asked_again_in_the_end(
    hung: Hung, tmp_path: Path
) -> None:
    folder = write_big_experiment(tmp_path / "made-up", hosts=(HOST,), segments=1)
    settings = tmp_path / "influx.yml"
    # Were the settings' time taken, nobody would see the end of it.
    settings.write_text(f"url: {hung.url}\ntimeout_s: 600\n")

    def send(number: int) -> Said:
        receipt = sent_receipt(Folder(folder), HOST, number)
        return ingest(folder, settings, "--host", HOST, "--patience-s", "0", "--receipt", str(receipt))

    said = [send(number) for number in range(3)]
    assert [one.code for one in said] == [0, 0, 0]
    wait_until(lambda: hung.taken, "the connection of the first")
    assert len(hung.taken) == 1, "only the first has tried"
    assert re.search(r"again in \d+ min", said[2].err)
    told = json.loads(sent_receipt(Folder(folder), HOST, 2).read_bytes())
    assert told["waiting"] > 0
    assert re.search(r"answer \d+ min ago", told["reason"])

    last = ingest(folder, settings, "--patience-s", "0", "--receipt", str(sent_receipt(Folder(folder))))
    assert last.code == 0
    wait_until(
        lambda: len(hung.taken) > 1, "a connection of the last one of a run, which tries whatever was before"
    )


def tried(folder: Path, identity: str = "here") -> bool:
    """Whether the block of an attempt is entered."""
    try:
        with attempt(Folder(folder), HOST, "http://x", identity):
            return True
    except Unreachable:
        return False


def mark(folder: Path) -> Path:
    return sent_receipt(Folder(folder), HOST).with_name("trying")


def test_what_was_killed_while_it_sent_is_not_tried_again_for_a_while(tmp_path: Path) -> None:
    with attempt(Folder(tmp_path), HOST, "http://x", "here"):
        # As one sees it who was killed here: the mark is there.
        left = mark(tmp_path).read_text()
    assert not mark(tmp_path).exists()
    assert tried(tmp_path)
    mark(tmp_path).write_text(left)
    assert not tried(tmp_path)
    assert tried(tmp_path, "another database")
    mark(tmp_path).write_text(left)
    for at in (time.time() - HELD_S - 1, time.time() + 3600):
        os.utime(mark(tmp_path), (at, at))
        assert tried(tmp_path), "long ago, or before the clock was put back"
        mark(tmp_path).write_text(left)
    forget_attempts(Folder(tmp_path), [HOST])
    assert tried(tmp_path)


def test_what_fails_at_once_is_tried_each_time(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(Unreachable, match="refused"), attempt(Folder(tmp_path), HOST, "http://x", "here"):
            raise Unreachable("http://x", "a reachable InfluxDB", "connection refused")
    assert not mark(tmp_path).exists()


def test_a_mark_that_cannot_be_written_hinders_nothing(tmp_path: Path) -> None:
    (tmp_path / "influx").touch()
    assert tried(tmp_path)
