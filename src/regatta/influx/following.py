"""Ingest while hosts measure: new records every two seconds, and the progress of each host."""

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

#: A look costs one `stat` per journal file; the CPU belongs to the measurement.
_LOOK_EVERY_S = 2.0
_PROGRESS_EVERY_S = 15.0
#: Without workflow events, this long without a runner is the end.
_QUIET_S = 30.0
#: A killed workflow writes no end event. Following ends after this long without a runner, an event or a record.
_ABANDONED_S = 600.0

#: name and size of the followed files
_Seen = dict[str, tuple[int, int]]


def follow(
    ingest: Ingest,
    stop: threading.Event,
    say: Say,
    hosts: Sequence[str] | None = None,
    look_every_s: float = _LOOK_EVERY_S,
) -> None:
    """Write new points of these hosts, or of all, until the experiment ends or `stop` is set.

    Raises:
        StoreError: the account is refused, or the journal was replaced.
    """
    following = Following(ingest, say, hosts)
    while True:
        # Ask first, so that everything written before the end is seen afterwards.
        ended = following.ended()
        following.look()
        if ended or stop.wait(look_every_s):
            return


class Following:
    """State of following an experiment."""

    def __init__(self, ingest: Ingest, say: Say, hosts: Sequence[str] | None = None) -> None:
        """`hosts`: hosts to follow; None: all."""
        self._ingest = ingest
        self._folder = ingest.folder
        self._hosts = hosts
        self._say = say
        self._sizes: dict[str, _Seen] = {}
        self._events: tuple[int, int] | None = None
        self._told: dict[str, tuple[float, Any]] = {}
        self._paces: dict[str, tuple[float, int]] = {}
        #: host -> holder that it waits for
        self._waiting: dict[str, str] = {}
        self._events_offset = 0
        #: whether a workflow is in progress; None: no workflow event yet
        self._begun: bool | None = None
        self._looked = False
        #: time of the last activity
        self._busy_at = time.monotonic()

    def look(self) -> None:
        """Write new points and the progress of each host. Raises the errors of `Ingest.host`; the next look then retries."""
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
        """Return whether the workflow has ended; without workflow events, whether no host has measured for a while."""
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
            f"no activity of {self._folder.name} for {quiet_s / 60:.0f} minutes, and its workflow has not reported its end:"
            " stopped following; run the same command again to continue"
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
            # This is the end of an earlier run; the next run may follow.
            self._begun = None
        self._looked = True

    def _states(self) -> list[dict[str, Any]]:
        """Return the states of the runners that measure now."""
        states = [read_state(path) for path in sorted(self._folder.state.glob("*.json"))]
        return [state for state in states if state and state["alive"]]

    def _tell_progress(self) -> None:
        """Write a progress event per host that advanced, at intervals."""
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
        """Write an event when a host starts to wait, waits for another run, or stops waiting."""
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
        # A round in which some cells are not needed counts by its share of cells.
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
