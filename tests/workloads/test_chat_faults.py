"""What goes wrong between a chat server and its users: others go on, and the client notices whatever is not as it should be."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from helpers.workloads import chat_runs, java_runs
from helpers.workloads.chat_runs import PATIENCE_S, RELEASES, Server, message

#: each test has a room of its own on the servers that they share
_ROOMS = count(1)


@pytest.fixture(scope="module", params=sorted(RELEASES))
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with chat_runs.server(request.param, java=java_runs.jvm(RELEASES[request.param])) as running:
        yield running


def test_users_hear_each_other_in_each_senders_order_and_no_other_room(server: Server) -> None:
    room, other = next(_ROOMS), next(_ROOMS)
    users = [server.user(room, number) for number in range(3)]
    stranger = server.user(other, 0)
    said = b"".join(users[0].say(sequence) for sequence in range(200))
    assert [user.hear(len(said)) for user in users] == [said] * 3
    own = stranger.say(0)
    assert stranger.hear(len(own)) == own


def test_when_a_user_dies_the_others_go_on(server: Server) -> None:
    room = next(_ROOMS)
    dying, *users = (server.user(room, number) for number in range(4))
    dying.say(0)
    heard = message(room, 0, 0)
    assert [user.hear(len(heard)) for user in users] == [heard] * 3
    dying.reset()
    for sequence in range(100):
        said = users[0].say(sequence)
        assert [user.hear(len(said)) for user in users] == [said] * 3
    # Its place is free again.
    assert server.user(room, 0).say(1) == users[2].hear(len(heard))


@pytest.mark.parametrize(
    "noise",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        struct.pack(">i", -1),
        struct.pack(">i", 2**31 - 1),
        struct.pack(">ib", 1, 9),
        message(0, 0, 0),
        struct.pack(">ibii", 9, 2, 0, 0),
    ],
    ids=["http", "negative", "huge", "unknown", "before joining", "an answer"],
)
def test_bytes_that_are_not_the_protocols_end_that_connection_only(server: Server, noise: bytes) -> None:
    room = next(_ROOMS)
    user = server.user(room, 0)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as noisy:
        noisy.sendall(noise)
        with suppress(ConnectionResetError):
            assert noisy.recv(1) == b""
    said = user.say(0)
    assert user.hear(len(said)) == said


def test_nobody_can_speak_for_another_or_take_a_place_that_is_taken(server: Server) -> None:
    room = next(_ROOMS)
    honest, liar = server.user(room, 0), server.user(room, 1)
    liar.socket.sendall(message(room, 0, 0))
    assert liar.is_closed()
    with pytest.raises((AssertionError, ConnectionResetError)):
        server.user(room, 0)
    said = honest.say(0)
    assert honest.hear(len(said)) == said


def test_a_user_that_only_stops_sending_hears_the_rest_of_what_it_was_sent(server: Server) -> None:
    room = next(_ROOMS)
    leaving, staying = server.user(room, 0), server.user(room, 1)
    said = b"".join(leaving.say(sequence) for sequence in range(50))
    leaving.socket.shutdown(socket.SHUT_WR)
    assert leaving.hear(len(said)) == said
    assert leaving.is_closed()
    assert staying.hear(len(said)) == said


def test_a_user_that_reads_late_holds_the_room_up_and_hears_everything(server: Server) -> None:
    room = next(_ROOMS)
    slow, sender = server.user(room, 0), server.user(room, 1)
    # More than sockets and queues hold on their way.
    total = 120_000
    said = b"".join(message(room, 1, sequence) for sequence in range(total))
    own = bytearray()
    threads = [
        threading.Thread(target=sender.socket.sendall, args=(said,)),
        threading.Thread(target=lambda: own.extend(sender.hear(len(said)))),
    ]
    for thread in threads:
        thread.start()
    threads[0].join(1)
    assert slow.hear(len(said)) == said
    for thread in threads:
        thread.join(PATIENCE_S)
    assert bytes(own) == said


#: what a server says at the end of a window of 1.5 s
ENDED = (
    b"ended window_ns=1500000000 user_ns=0 system_ns=0 minor_faults=0 major_faults=0 received=0 delivered=0 counted=0 "
    b"voluntary=0 involuntary=0 switches_ns=1 switches_received=0 cpus=2 threads=1 threads_ended=0 accepted=20 rejected=0 too_slow=0\n"
)

FAULTS = {
    "lost": ("got message 5", lambda frames: [f for i, f in enumerate(frames) if i != 4]),
    "twice": ("got message 3", lambda frames: [f for i, f in enumerate(frames) for _ in range(1 + (i == 3))]),
    "out of order": ("got message 5", lambda frames: [*frames[:4], frames[5], frames[4], *frames[6:]]),
    "changed": (
        "the sent message",
        lambda frames: [*frames[:4], frames[4][:-1] + b"\0", *frames[5:]],
    ),
    "of another room": ("kind 3 of room 7", lambda frames: [*frames[:4], _moved(frames[4])]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_client_notices_a_message_that_is(fault: str, tmp_path: Path) -> None:
    told, change = FAULTS[fault]
    with socket.create_server(("127.0.0.1", 0)) as users, socket.create_server(("127.0.0.1", 0)) as control:
        threading.Thread(target=_serve_one, args=(users, change), daemon=True).start()
        address = ("--server", f"127.0.0.1:{users.getsockname()[1]}", "--control", control.getsockname()[1])
        options = ("--connections", 1, "--rate", 100, "--warmup-seconds", 30)
        run = chat_runs.client(tmp_path, *address, *options, java=java_runs.jvm(17))
    assert run.code == 1
    assert told in run.stderr
    assert [told in line["error"] for line in run.lines] == [True]


def test_the_client_notices_a_server_that_ends(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as users, socket.create_server(("127.0.0.1", 0)) as control:
        threading.Thread(
            target=_serve_one, args=(users, lambda frames: frames[:6], True), daemon=True
        ).start()
        address = ("--server", f"127.0.0.1:{users.getsockname()[1]}", "--control", control.getsockname()[1])
        options = ("--connections", 1, "--rate", 100, "--warmup-seconds", 30)
        run = chat_runs.client(tmp_path, *address, *options, java=java_runs.jvm(17))
    assert run.code == 1
    # It may be reading, or writing already when the system knows of the end.
    told = ("server closed the connection", "Connection reset", "Broken pipe")
    assert any(words in run.stderr for words in told), run.stderr


#: s; how long a window lasts, and for how long one of the two stands still in it
WINDOW_S, STILL_S = 1.5, 1.0
#: times that a test may come too late to stop a process inside of a window
TRIES = 20


def _latencies(results: Path) -> dict[float, float]:
    """Percentile -> ns."""
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    return {
        line["parameters"]["percentile"]: line["value"] for line in lines if line.get("metric") == "latency"
    }


def _stands_still(
    pid: int,
    client: subprocess.Popen[bytes],
    to_client: socket.socket,
    answer: bytes,
    still_s: float = STILL_S,
) -> bool:
    """Open the client's window by `answer`, and stop a process inside of it for `still_s`; returns when the window has ended.

    Returns False where the window may have opened after the process was stopped, or may have been nearly over.
    """
    answered_s = time.monotonic()
    to_client.sendall(answer)
    time.sleep(0.2)
    os.kill(pid, signal.SIGSTOP)
    stopped_s = time.monotonic()
    time.sleep(still_s)
    os.kill(pid, signal.SIGCONT)
    continued_s = time.monotonic()
    assert to_client.recv(64) == b"end\n"
    opened_by_s = time.monotonic() - WINDOW_S
    # A client that stands still opens no window, so that one it opened before it went on is older than the stop.
    opened_before_s = continued_s if pid == client.pid else stopped_s
    return opened_by_s < opened_before_s and stopped_s - answered_s < WINDOW_S - STILL_S


@contextmanager
def _client(
    tmp_path: Path, server: Server, control: socket.socket, rate: int
) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """A client, and the connection by which it opens and closes its window."""
    (tmp_path / "results").unlink(missing_ok=True)
    address = ("--server", f"127.0.0.1:{server.port}", "--control", control.getsockname()[1])
    options = ("--connections", 20, "--rate", rate, "--seconds", WINDOW_S, "--warmup-seconds", 0.3)
    client = subprocess.Popen(
        chat_runs.client_command(*address, *options, java=java_runs.jvm(17)),
        env=chat_runs.environment(tmp_path, REGATTA_RESULTS=str(tmp_path / "results")),
        stdin=subprocess.DEVNULL,
    )
    try:
        control.settimeout(PATIENCE_S)
        connection, _ = control.accept()
        with connection:
            connection.settimeout(PATIENCE_S)
            assert connection.recv(64) == b"begin\n"
            yield client, connection
            assert client.wait(PATIENCE_S) == 0
    finally:
        client.kill()
        client.wait()


@pytest.mark.parametrize(
    ("stopped", "rate", "percent"), [("server", 50, 90), ("client", 50, 90), ("server", 0, 100)]
)
def test_who_stands_still_is_charged_for_every_message_that_was_due(
    stopped: str, rate: int, percent: int, tmp_path: Path
) -> None:
    """In the open loop two thirds of the time are stood still, and so many messages are late; a closed loop has one each."""
    with (
        chat_runs.server("selector", java=java_runs.jvm(17)) as running,
        socket.create_server(("127.0.0.1", 0)) as control,
    ):
        for _ in range(TRIES):
            with (
                _client(tmp_path, running, control, rate) as (client, to_client),
                socket.create_connection(("127.0.0.1", running.control), timeout=PATIENCE_S) as to_server,
            ):
                to_server.sendall(b"begin\n")
                assert to_server.recv(64) == b"begun\n"
                pid = running.process.pid if stopped == "server" else client.pid
                in_time = _stands_still(pid, client, to_client, b"begun\n")
                to_server.sendall(b"end\n")
                to_client.sendall(to_server.makefile("rb").readline())
            if in_time:
                break
        else:
            pytest.skip("machine too busy: no process could be stopped in time")
    latency = _latencies(tmp_path / "results")
    assert latency[percent] > 150e6
    assert latency[100] > 250e6


def test_a_client_that_comes_late_to_the_last_border_still_sends_what_was_due(tmp_path: Path) -> None:
    """It stands still from inside the window to after its end; the server's answer is there before, so that nothing gives it time."""
    with (
        chat_runs.server("selector", java=java_runs.jvm(17)) as running,
        socket.create_server(("127.0.0.1", 0)) as control,
    ):
        for _ in range(TRIES):
            with _client(tmp_path, running, control, rate=50) as (client, to_client):
                in_time = _stands_still(client.pid, client, to_client, b"begun\n" + ENDED, 2 * WINDOW_S)
            if in_time:
                break
        else:
            pytest.skip("machine too busy: the client could not be stopped in time")
    # Most of the window, which ends where the client comes to it, was stood still.
    assert _latencies(tmp_path / "results")[50] > 100e6


def _moved(frame: bytes) -> bytes:
    return frame[:5] + struct.pack(">i", 7) + frame[9:]


def _serve_one(listening: socket.socket, change: object, then_end: bool = False) -> None:
    """A server of one user that sends it, of its first ten messages, those that `change` makes of them."""
    connection, _ = listening.accept()
    with connection, suppress(OSError):
        joining = connection.recv(13)
        connection.sendall(joining[:4] + b"\2" + joining[5:])
        size = len(message(0, 0, 0))
        frames = []
        while len(frames) < 10:
            frame = b""
            while len(frame) < size:
                frame += connection.recv(size - len(frame))
            frames.append(frame)
        for frame in change(frames):  # type: ignore[operator]
            connection.sendall(frame)
        while not then_end and connection.recv(65536):
            pass


@pytest.mark.parametrize("mode", sorted(RELEASES))
def test_a_user_that_never_reads_is_cut_off_and_the_room_goes_on(mode: str, tmp_path: Path) -> None:
    java = java_runs.jvm(RELEASES[mode])
    told = tmp_path / "errors"
    with (
        told.open("wb") as errors,
        chat_runs.server(mode, "--patience-ms", "300", java=java, errors=errors) as running,
    ):
        stuck, sender = running.user(1, 0), running.user(1, 1)
        # So few at a time as its own connection can hold: of the two only the first is ever waited for.
        total, at_once = 120_000, 200
        for first in range(0, total, at_once):
            said = b"".join(message(1, 1, sequence) for sequence in range(first, first + at_once))
            sender.socket.sendall(said)
            assert sender.hear(len(said)) == said
        with suppress(ConnectionResetError):
            assert len(stuck.hear(total * len(message(1, 1, 0)))) < total * len(message(1, 1, 0))
    assert "user 0 of room 1" in told.read_text()
