"""Send records of a segment while it is measured, so that dashboards do not lag by a segment.

For a remote host, a thread sends while another follows the host. On this machine, `regatta.cli.companion` sends
between blocks, when the runner asks for it. Everything else is sent after the segment; sending twice changes nothing.

An unresponsive database is skipped: the marker file of a host exists while its points are sent, so that it remains if the
sender is killed after a timeout. It also remains after a slow failure of the database. For `HELD_S` nothing is sent then.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from regatta.host.errors import RegattaError
from regatta.host.files import write_whole
from regatta.host.journal.runner_state import node_is_here
from regatta.influx.client import Client, Say, Unreachable
from regatta.influx.following import Following
from regatta.influx.ingesting import Ingest
from regatta.influx.settings import Settings
from regatta.store.folder import Folder
from regatta.store.receipts import sent_receipt

_EVERY_S = 5.0
#: timeout of an answer while measuring waits
_ANSWER_S = 1.0
#: time for a request in progress when the segment ends
_LAST_S = 1.0
#: seconds without an attempt after a failed wait
HELD_S = 600.0
#: A faster failure (connection refused) costs less than checking the marker.
_SOON_S = 1.0
#: name of the marker between segments, where there is more patience, and of the one while a segment is measured
_MARK, _LIVE_MARK = "trying", "trying-live"


@contextmanager
def sent_beside(folder: Folder, host: str, settings: Settings, say: Say) -> Iterator[None]:
    """Send new points of a remote host while the block follows it.

    The block never waits for the database, and database errors do not end the block.
    """
    stop, over = threading.Event(), threading.Event()

    def work() -> None:
        try:
            client = Client(settings, "write", patience_s=float("inf"), say=say, stop=stop)
            following = Following(Ingest(folder, client), say, [host])
            while True:
                if not node_is_here(folder.state, host):
                    following.look()
                if over.wait(_EVERY_S):
                    return
        except (RegattaError, OSError) as error:
            # Not `stop`: an error in the ingest also sets it.
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


class PauseSender:
    """Sends new points of this machine whenever the runner pauses."""

    def __init__(self, folder: Folder, host: str, settings: Settings, say: Say) -> None:
        """`say`: called once per outage."""
        self._folder = folder
        self._host = host
        self._settings = settings
        self._say = say
        client = Client(settings, "write", patience_s=0.0, answer_s=_ANSWER_S, say=say)
        self._ingest = Ingest(folder, client, lock_patience_s=0.0)
        self._following = Following(self._ingest, say, [host])
        self._said = False

    def look(self) -> None:
        """Send once.

        Raises:
            StoreError: the account is refused, another process writes the same points, or there is no space for positions.
        """
        try:
            with attempt(self._folder, self._host, self._settings.url, self._settings.identity, _LIVE_MARK):
                # Events first: they announce the start of measuring, and there can be many records.
                self._ingest.events()
                self._following.look()
            self._said = False
        except Unreachable as error:
            if not self._said:
                self._said = True
                self._say(str(error))


@contextmanager
def attempt(folder: Folder, host: str, url: str, identity: str, name: str = _MARK) -> Iterator[None]:
    """Send the content of the block, unless an attempt failed less than `HELD_S` ago.

    Args:
        identity: identity of the database; markers of other databases do not count.
        name: name of the marker; other markers do not count.

    Raises:
        Unreachable: an attempt failed less than `HELD_S` ago; the block is not entered.
    """
    mark = _mark(folder, host, name)
    left_s = _left_s(mark, identity)
    if left_s > 0:
        raise Unreachable(
            url,
            "a reachable InfluxDB",
            f"no answer {(HELD_S - left_s) / 60:.0f} min ago",
            f"wait: Regatta tries again in {left_s / 60:.0f} min and at the end; records stay in the journal",
        )
    with suppress(OSError):
        write_whole(mark, identity)
    began = time.monotonic()
    keep = False
    try:
        yield
    except Unreachable:
        keep = time.monotonic() - began >= _SOON_S
        raise
    finally:
        with suppress(OSError):
            if keep:
                os.utime(mark)
            else:
                mark.unlink()


def _mark(folder: Folder, host: str, name: str) -> Path:
    return sent_receipt(folder, host).with_name(name)


def forget_attempts(folder: Folder, hosts: Sequence[str]) -> None:
    """Remove the markers after the database answered again."""
    for host in hosts:
        with suppress(OSError):
            _mark(folder, host, _MARK).unlink()


def _left_s(mark: Path, identity: str) -> float:
    try:
        age_s = time.time() - mark.stat().st_mtime
        same = mark.read_text(encoding="utf-8", errors="replace") == identity
    except OSError:
        return 0.0
    # A marker in the future is from before the clock was set back.
    return HELD_S - age_s if same and 0 <= age_s < HELD_S else 0.0
