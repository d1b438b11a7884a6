"""Time that the runner gives another process between blocks: when, how long, and never again to one that does not answer."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.runner_plans import Runner, printed, sh, write_plan
from regatta.host.measure import pauses
from regatta.host.measure.pauses import DONE, PAUSE, Pauses
from regatta.host.measure.process import StopSignals


@pytest.fixture
def other() -> Iterator[tuple[Pauses, socket.socket]]:
    """The runner's end, and the other one."""
    ours, theirs = socket.socketpair()
    made = Pauses(ours.detach())
    with theirs:
        yield made, theirs
        made.close()


def answer(end: socket.socket, after_s: float = 0.0) -> list[bytes]:
    """Answer every pause in a thread; returns what came."""
    came: list[bytes] = []
    own = end.dup()

    def work() -> None:
        with own:
            while word := own.recv(1):
                came.append(word)
                time.sleep(after_s)
                own.sendall(DONE)

    threading.Thread(target=work, daemon=True).start()
    return came


def test_pauses_are_between_blocks_and_never_inside_one(
    other: tuple[Pauses, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses, "EVERY_S", 0.0)
    monkeypatch.setattr(pauses, "_LONGEST_S", 300.0)
    ours, theirs = other
    came = answer(theirs)
    with StopSignals() as stop:
        paused = [bool(ours.offer(block, stop)) for block in ((0, 0), (0, 0), (0, 1), (1, 1), (1, 1))]
    assert paused == [True, False, True, True, False]
    assert came == [PAUSE] * 3


def test_there_is_no_pause_shortly_after_another(
    other: tuple[Pauses, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses, "EVERY_S", 3600.0)
    monkeypatch.setattr(pauses, "_LONGEST_S", 300.0)
    ours, theirs = other
    came = answer(theirs)
    with StopSignals() as stop:
        assert ours.offer((0, 0), stop) > 0
        assert ours.offer((1, 0), stop) == 0
    assert came == [PAUSE]


@pytest.mark.parametrize("ends", [False, True])
def test_what_does_not_answer_is_waited_for_once(
    other: tuple[Pauses, socket.socket], monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    ours, theirs = other
    monkeypatch.setattr(pauses, "EVERY_S", 0.0)
    monkeypatch.setattr(pauses, "_LONGEST_S", 0.0)
    if ends:
        theirs.shutdown(socket.SHUT_RDWR)
    with StopSignals() as stop:
        assert ours.offer((0, 0), stop) > 0
        assert ours.offer((1, 0), stop) == 0
    if not ends:
        assert [theirs.recv(1), theirs.recv(1)] == [PAUSE, b""]


def test_a_pause_is_the_runners_own_time_and_its_socket_no_measured_process_has(tmp_path: Path) -> None:
    runner = Runner(tmp_path / "paused")
    write_plan(runner.folder, [sh("looks", "ls -l /proc/self/fd")], 2)
    ours, theirs = socket.socketpair()
    with theirs:
        came = answer(theirs, 0.3)
        with ours:
            fd = ours.fileno()
            process = runner.start(0, "--pauses", str(fd), pass_fds=[fd])
        _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    records = runner.records()
    # There is a second one where the machine stops for longer than the runner's minimum between pauses.
    assert set(came) == {PAUSE}
    assert records[0]["runner"]["before_ns"] >= 300_000_000
    for record in records:
        assert record["status"] == "ok"
        assert b"socket" not in printed(record, "stdout")
