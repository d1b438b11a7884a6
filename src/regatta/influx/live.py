"""Sending what a segment measures while it is measured, so that dashboards are not a segment behind.

Where the host is another machine, a thread sends beside what follows it. Where it is this machine, a process sends between
blocks, when the runner says so. What is not sent is sent after the segment, as ever; sending twice changes nothing.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from regatta.host.errors import RegattaError
from regatta.host.journal.runner_state import read_state
from regatta.influx.attempts import attempt
from regatta.influx.client import Client, Say, Unreachable
from regatta.influx.following import Following
from regatta.influx.ingesting import Ingest
from regatta.influx.settings import Settings
from regatta.store.folder import Folder

#: what the runner and its sender say: `regatta.host.measure.pauses`
_PAUSE, _DONE = b"p", b"d"
_EVERY_S = 5.0
#: How long the database may say nothing while measuring waits, and how long it may take in all: the kernel then ends the sender.
_ANSWER_S, _LONGEST_S = 1.0, 2.0
#: for a request that is under way when the segment ends
_LAST_S = 1.0
#: Apart from the mark of what is sent between segments, which has more patience.
_MARK = "trying-live"


@contextmanager
def sent_beside(folder: Folder, host: str, settings: Settings, say: Say) -> Iterator[None]:
    """Send what is new of a host that is another machine, while the block follows it.

    The block never waits for the database, and no trouble with it ends the block.
    """
    stop, over = threading.Event(), threading.Event()

    def work() -> None:
        try:
            client = Client(settings, "write", patience_s=float("inf"), say=say, stop=stop)
            following = Following(Ingest(folder, client), say, [host])
            while True:
                if not _is_measured_here(folder, host):
                    following.look()
                if over.wait(_EVERY_S):
                    return
        except (RegattaError, OSError) as error:
            # Not by `stop`, which an error in the ingest sets as well.
            if not over.is_set():
                say(f"not sent to InfluxDB until the segment ends: {error}")

    thread = threading.Thread(target=work, name=f"influx live {host}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        stop.set()
        thread.join(_LAST_S)


def _is_measured_here(folder: Folder, host: str) -> bool:
    """Whether the node that Slurm gave is this machine: its runner's process is one of this machine then."""
    state = read_state(folder.state / f"{host}.node.json")
    return state is not None and bool(state["alive"])


def start_sender(folder: Folder, host: str, segment: int, settings: Settings) -> int:
    """Start the process that sends between blocks of this machine; returns the descriptor for the runner's `--pauses`.

    It ends when the descriptor is closed. It is no child of this process, for the runner ends every child that it has when an
    invocation ends.
    """
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.fork() == 0:
                ours.close()
                _become_sender(theirs.fileno(), folder, host, segment, settings)
            code = 0
        finally:
            os._exit(code)
    os.waitpid(child, 0)
    theirs.close()
    ours.set_inheritable(True)
    return ours.detach()


def _become_sender(fd: int, folder: Folder, host: str, segment: int, settings: Settings) -> None:
    folder.logs.mkdir(parents=True, exist_ok=True)
    log = os.open(
        folder.logs / f"live-{host}-{segment:05d}.log",
        os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC,
        0o644,
    )
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    try:
        send_in_pauses(fd, folder, host, settings, _say)
    except (RegattaError, OSError) as error:
        _say(f"not sent until the segment ends: {error}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def send_in_pauses(fd: int, folder: Folder, host: str, settings: Settings, say: Say) -> None:
    """Send what is new whenever the runner pauses, until it closes its end of the socket.

    Raises:
        StoreError: the account is refused, another process writes the same points, or there is no room for positions.
    """
    client = Client(settings, "write", patience_s=0.0, answer_s=_ANSWER_S, say=say)
    ingest = Ingest(folder, client, lock_patience_s=0.0)
    following = Following(ingest, say, [host])
    said = False
    while os.read(fd, 1) == _PAUSE and not _gone(fd):
        signal.setitimer(signal.ITIMER_REAL, _LONGEST_S)
        try:
            with attempt(folder, host, settings.url, settings.identity, _MARK):
                # First, for they say that measuring has begun, and of records there may be many.
                ingest.events()
                following.look()
            said = False
        except Unreachable as error:
            if not said:
                said = True
                say(str(error))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        os.write(fd, _DONE)


def _gone(fd: int) -> bool:
    """Whether the runner has not waited for the answer, and measures."""
    ready, _, _ = select.select([fd], [], [], 0)
    return bool(ready)
