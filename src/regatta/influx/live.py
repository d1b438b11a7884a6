"""Send records of a segment while it is measured, so that dashboards do not lag by a segment.

For a remote host, a thread sends while another follows the host. On this machine, `regatta.cli.companion` sends between
blocks, when
the runner asks for it. Everything else is sent after the segment; sending twice changes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from regatta.host.errors import RegattaError
from regatta.host.journal.runner_state import node_is_here
from regatta.influx.attempts import attempt
from regatta.influx.client import Client, Say, Unreachable
from regatta.influx.following import Following
from regatta.influx.ingesting import Ingest
from regatta.influx.settings import Settings
from regatta.store.folder import Folder

_EVERY_S = 5.0
#: timeout of an answer while measuring waits
_ANSWER_S = 1.0
#: time for a request in progress when the segment ends
_LAST_S = 1.0
#: Separate from the marker of sending between segments, which has more patience.
_MARK = "trying-live"


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
            with attempt(self._folder, self._host, self._settings.url, self._settings.identity, _MARK):
                # Events first: they announce the start of measuring, and there can be many records.
                self._ingest.events()
                self._following.look()
            self._said = False
        except Unreachable as error:
            if not self._said:
                self._said = True
                self._say(str(error))
