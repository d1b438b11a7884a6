"""Slices of a Perfetto trace: interrupts, calls, phases, transactions, requests to disks, and locks."""

from __future__ import annotations

from typing import Any

import numpy as np

from regatta.models.kernel_traces.model import Kind
from regatta.models.kernel_traces.perfetto_packets import Packets
from regatta.models.kernel_traces.perfetto_scheduling import Columns
from regatta.models.kernel_traces.perfetto_tracks import Objects, Tracks

#: kinds of events that make slices
_KINDS = (Kind.INTERRUPT, Kind.INTERRUPT_END, Kind.REQUEST, Kind.ACCEPT, Kind.FINISH)
_COLUMNS = ("time_ns", "kind", "cpu", "actor", "object", "request")
#: calls, which nest on the track of their thread
_CALLS = ("function", "system-call")
#: objects that do work at times that overlap
_SERVERS = ("transaction", "disk", "network")
#: a lane with a slice that never ends
_NEVER = 1 << 63

#: what pairs ACCEPT with FINISH: the object, whether requests are numbered, and the request or the actor
_Key = tuple[int, bool, int]


class Slices:
    """Encoder of slices. Its memory grows with the open slices only."""

    def __init__(self, packets: Packets, objects: Objects, system_calls: bool) -> None:
        """Write slices of `objects` to `packets`. `system_calls`: whether system calls are slices."""
        self._packets = packets
        self._objects = objects
        self._tracks = Tracks(packets, objects)
        self._kinds = np.array([*objects.kinds, ""])
        self._left_out = self._kinds == ("" if system_calls else "system-call")
        event = packets.messages.TrackEvent
        self._begin, self._end, self._instant = (
            event.TYPE_SLICE_BEGIN,
            event.TYPE_SLICE_END,
            event.TYPE_INSTANT,
        )
        #: track -> open slices from the outermost inward; a waiting for a lock has the complement of its number
        self._stacks: dict[int, list[int]] = {}
        #: thread -> time and lock of a request that may be granted at once, and then is no slice
        self._asks: dict[int, tuple[int, int]] = {}
        #: accepted requests -> time and actor
        self._accepted: dict[_Key, tuple[int, int]] = {}
        #: object -> its lanes: track, and the end of the last slice
        self._lanes: dict[int, list[list[int]]] = {}
        self._returned: set[int] = set()

    def add(self, events: Columns) -> None:
        """Add events, which follow those of the last call."""
        chosen = np.isin(events["kind"], _KINDS) & ~self._left_out[events["object"]] & (events["object"] >= 0)
        kinds = self._objects.kinds
        columns = (events[name][chosen].tolist() for name in _COLUMNS)
        for time, event, cpu, actor, number, request in zip(*columns, strict=True):
            kind = kinds[number]
            if event in (Kind.INTERRUPT, Kind.INTERRUPT_END):
                if cpu >= 0:
                    self._nest(self._tracks.of_interrupts(cpu), event == Kind.INTERRUPT, time, number)
            elif kind in _CALLS:
                if actor >= 0 and event != Kind.REQUEST:
                    self._call(event == Kind.ACCEPT, time, actor, number)
            elif kind == "phase":
                if actor >= 0 and event != Kind.REQUEST:
                    self._phase(event == Kind.ACCEPT, time, actor, number)
            elif kind == "lock":
                self._lock(event, time, actor, number, request)
            elif kind in _SERVERS:
                self._serve(event, time, actor, number, request)

    def finish(self) -> None:
        """Write slices that have no end."""
        for actor in list(self._asks):
            self._show_ask(actor)
        for (number, numbered, request), (time, actor) in self._accepted.items():
            # A recording may have no returns of a lock, only the end of waiting for it.
            if self._objects.kinds[number] != "lock" or number in self._returned:
                self._write_lane(number, time, None, actor, request if numbered else 0)

    def _call(self, begins: bool, time: int, actor: int, number: int) -> None:
        self._show_ask(actor)
        self._nest(self._tracks.of(actor), begins, time, number)

    def _phase(self, begins: bool, time: int, actor: int, number: int) -> None:
        track = self._tracks.of_phases(actor)
        if begins:
            for _ in self._stacks.pop(track, []):
                self._event(track, self._end, time)
        self._nest(track, begins, time, number)

    def _lock(self, event: int, time: int, actor: int, number: int, request: int) -> None:
        key = _key(actor, number, request)
        if event == Kind.REQUEST:
            if actor >= 0:
                self._show_ask(actor)
                self._asks[actor] = (time, number)
        elif event == Kind.ACCEPT:
            if self._asks.get(actor) == (time, number):
                del self._asks[actor]
            elif actor >= 0:
                self._show_ask(actor)
                self._nest(self._tracks.of(actor), False, time, ~number)
            self._accepted[key] = (time, actor)
        else:
            self._returned.add(number)
            if (accepted := self._accepted.pop(key, None)) is not None:
                self._write_lane(number, accepted[0], time, accepted[1])

    def _show_ask(self, actor: int) -> None:
        if (ask := self._asks.pop(actor, None)) is not None:
            self._nest(self._tracks.of(actor), True, ask[0], ~ask[1])

    def _serve(self, event: int, time: int, actor: int, number: int, request: int) -> None:
        if self._objects.kinds[number] == "transaction" and actor >= 0:
            self._show_ask(actor)
            word = {Kind.REQUEST: "requests", Kind.ACCEPT: "accepts", Kind.FINISH: "finishes"}[Kind(event)]
            name = f"{word} {self._objects.names[number]}"
            instant = self._event(self._tracks.of(actor), self._instant, time, name, number)
            if request > 0:
                (instant.terminating_flow_ids if event == Kind.FINISH else instant.flow_ids).append(request)
        key = _key(actor, number, request)
        if event == Kind.ACCEPT:
            self._accepted[key] = (time, actor)
        elif event == Kind.FINISH and (accepted := self._accepted.pop(key, None)) is not None:
            self._write_lane(number, accepted[0], time, accepted[1], request)

    def _nest(self, track: int, begins: bool, time: int, number: int) -> None:
        """Begin or end a slice within the open ones of a track. An end also ends the slices within it."""
        stack = self._stacks.setdefault(track, [])
        if begins:
            stack.append(number)
            name = self._objects.names[number] if number >= 0 else f"waits for {self._objects.names[~number]}"
            self._event(track, self._begin, time, name, max(number, ~number))
        elif number in stack:
            while stack.pop() != number:
                self._event(track, self._end, time)
            self._event(track, self._end, time)

    def _write_lane(self, number: int, begin: int, end: int | None, actor: int, request: int = 0) -> None:
        """Write a slice of an object on the first lane that is free."""
        lanes = self._lanes.setdefault(number, [])
        lane = next((one for one in lanes if one[1] <= begin), None)
        if lane is None:
            lane = [self._tracks.new_lane(number), 0]
            lanes.append(lane)
        lane[1] = _NEVER if end is None else end
        objects = self._objects
        lock = objects.kinds[number] == "lock"
        name = f"holds {objects.names[number]}" if lock else objects.names[number]
        event = self._event(lane[0], self._begin, begin, name, number)
        if objects.kinds[number] == "transaction" and request > 0:
            event.flow_ids.append(request)
        if actor >= 0:
            event.debug_annotations.add(name="actor", string_value=objects.names[actor])
        if end is not None:
            self._event(lane[0], self._end, end)

    def _event(self, track: int, event: int, time: int, name: str = "", number: int = -1) -> Any:
        written = self._packets.add(time).track_event
        written.type = event
        written.track_uuid = track
        if number >= 0:
            written.name = name
            written.categories.append(self._objects.kinds[number])
        return written


def _key(actor: int, number: int, request: int) -> _Key:
    """Return the key of a request of `actor` to object `number`. Requests are numbered from 1, or not at all."""
    return (number, True, request) if request > 0 else (number, False, actor)
