"""Writing into the database while hosts measure: what is new every two seconds, and how far each host is."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from regatta.host.errors import StoreError
from regatta.host.journal.decisions import groups_of, planned_rounds, read_decisions
from regatta.host.journal.runner_state import read_state, waits_for
from regatta.influx.client import Say
from regatta.influx.ingesting import Ingest
from regatta.store.events import FAILED, append_event, events_path, read_events

#: Looking costs a `stat` a journal file; the machine belongs to the measurement.
_LOOK_EVERY_S = 2.0
_PROGRESS_EVERY_S = 15.0
#: Where no workflow has told of its beginning and end, this long without a runner is the end.
_QUIET_S = 30.0
#: A workflow that was killed tells of no end. So long without a runner, a new event and a new record, nobody waits for it.
_ABANDONED_S = 600.0

#: name and size of what is followed
_Seen = dict[str, tuple[int, int]]


def follow(
    ingest: Ingest,
    stop: threading.Event,
    say: Say,
    hosts: Sequence[str] | None = None,
    look_every_s: float = _LOOK_EVERY_S,
) -> None:
    """Write what is new of these hosts, or of all, until the experiment has ended or `stop` is set.

    Raises:
        StoreError: the account is refused, or the journal is another one than before.
    """
    following = Following(ingest, say, hosts)
    while True:
        # Asked first: what is written before the end is seen afterwards.
        ended = following.ended()
        following.look()
        if ended or stop.wait(look_every_s):
            return


class Following:
    """What was seen of an experiment so far."""

    def __init__(self, ingest: Ingest, say: Say, hosts: Sequence[str] | None = None) -> None:
        """`hosts`: which are followed; None: all."""
        self._ingest = ingest
        self._folder = ingest.folder
        self._hosts = hosts
        self._say = say
        self._sizes: dict[str, _Seen] = {}
        self._events: tuple[int, int] | None = None
        self._told: dict[str, tuple[float, Any]] = {}
        self._paces: dict[str, tuple[float, int]] = {}
        #: host -> for whom it waits
        self._waiting: dict[str, str] = {}
        self._events_offset = 0
        #: whether a workflow has begun and not ended; None: none has said so
        self._begun: bool | None = None
        self._looked = False
        #: when something was last seen to happen
        self._busy_at = time.monotonic()

    def look(self) -> None:
        """Write what is new, and how far each host is. Raises what `Ingest.host` does; the next look then tries again."""
        self._tell_progress()
        for host in self._ingest.hosts() if self._hosts is None else self._hosts:
            seen: _Seen = {}
            for path in self._ingest.files(host):
                stat = path.stat()
                seen[path.name] = (stat.st_size, stat.st_ino)
            if self._sizes.get(host) != seen:
                self._busy_at = time.monotonic()
                self._ingest.host(host)
                self._sizes[host] = seen
        events = self._events_size()
        if events != self._events:
            self._ingest.events()
            self._events = events

    def _events_size(self) -> tuple[int, int] | None:
        try:
            stat = events_path(self._folder.path).stat()
        except OSError:
            return None
        return (stat.st_size, stat.st_ino)

    def ended(self) -> bool:
        """Whether the workflow has ended; where none tells of itself, whether nothing has measured for a while."""
        self._read_events()
        if self._begun is False:
            return True
        now = time.monotonic()
        if self._states() or (self._begun is None and not self._folder.journal.is_dir()):
            self._busy_at = now
        quiet_s = now - self._busy_at
        if self._begun is None:
            return quiet_s >= _QUIET_S
        if quiet_s < _ABANDONED_S:
            return False
        self._say(
            f"for {quiet_s / 60:.0f} minutes nothing has happened to {self._folder.name}, whose workflow has told of no"
            " end: it is no longer followed; the same command goes on"
        )
        return True

    def _read_events(self) -> None:
        for event in read_events(events_path(self._folder.path), self._events_offset):
            self._events_offset = event.end
            if event.kind == "experiment_started":
                self._begun = True
            elif event.kind == "experiment_ended":
                self._begun = False
            if self._looked and event.kind != "progress":
                self._busy_at = time.monotonic()
        if not self._looked and self._begun is False:
            # That was the end of an earlier run; who follows now may wait for the next.
            self._begun = None
        self._looked = True

    def _states(self) -> list[dict[str, Any]]:
        """What runners say of themselves that measure now."""
        states = [read_state(path) for path in sorted(self._folder.state.glob("*.json"))]
        return [state for state in states if state and state["alive"]]

    def _tell_progress(self) -> None:
        """Write an event of every host that has come further, now and then."""
        now = time.monotonic()
        for state in self._states():
            host, index = state.get("host"), state.get("index")
            if not isinstance(host, str) or (self._hosts is not None and host not in self._hosts):
                continue
            self._tell_waiting(host, waits_for(state))
            if not isinstance(index, int):
                continue
            at, seen = self._told.get(host, (-_PROGRESS_EVERY_S, None))
            if now - at < _PROGRESS_EVERY_S or seen == index:
                continue
            self._told[host] = (now, index)
            try:
                append_event(self._folder.path, "progress", host, **self._progress(host, index, state, now))
            except StoreError as error:
                self._say(str(error))

    def _tell_waiting(self, host: str, now: str) -> None:
        """Write an event when a host begins to wait, waits for another run, or waits no more."""
        if self._waiting.get(host, "") == now:
            return
        self._waiting[host] = now
        try:
            if now:
                append_event(self._folder.path, "waiting", host, text=now)
            else:
                append_event(self._folder.path, "waiting_ended", host)
        except StoreError as error:
            self._say(str(error))

    def _progress(self, host: str, index: int, state: dict[str, Any], now: float) -> dict[str, Any]:
        header = self._folder.host_header(host)
        decisions = read_decisions(self._folder.decisions(host)) if groups_of(header) else {}
        rounds = planned_rounds(header, decisions)
        round_, rest = divmod(index, len(rounds))
        # Of a round some of whose cells are not needed, as many are done as its share of cells.
        done = sum(min(planned, round_) for planned in rounds)
        done += rest * sum(planned > round_ for planned in rounds) // len(rounds)
        counts = state.get("counts") or {}
        found: dict[str, Any] = {
            "planned": sum(rounds),
            "recorded": done,
            "failed": sum(counts.get(status, 0) for status in FAILED),
            "perturbed": counts.get("perturbed", 0),
            "cell": str(state.get("cell") or ""),
        }
        began, first = self._paces.setdefault(host, (now, done))
        if done > first:
            found["remaining_s"] = (now - began) / (done - first) * max(0, sum(rounds) - done)
        return found
