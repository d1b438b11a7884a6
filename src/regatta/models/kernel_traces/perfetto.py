"""Export an event trace to Perfetto, https://ui.perfetto.dev: scheduling, interrupts, slices and flows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regatta.host.errors import RegattaError
from regatta.host.files import written
from regatta.models.kernel_traces.filling import Columns, columns_of
from regatta.models.kernel_traces.model import EVENTS, Kind, Trace
from regatta.models.kernel_traces.perfetto_scheduling import Scheduling
from regatta.models.kernel_traces.perfetto_tracks import (
    Objects,
    Packets,
    Tracks,
    read_objects,
    write_process_tree,
)

#: events in memory at once
_ROWS = 1 << 16
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


def export_perfetto(trace: Trace, path: Path) -> None:
    """Write a whole event trace as a Perfetto file, in one pass and with little memory.

    The file holds:
    - switches and wakings of all threads, per CPU;
    - interrupts, on a track per CPU;
    - functions, system calls and waiting for locks, on the track of their thread;
      a lock granted at once is no slice;
    - phases, on a track below that of their thread;
    - transactions and requests to disks and networks, on a track per object. Flows, numbered by `request`,
      connect the request, the start and the end of a transaction over threads;
    - the holding of locks, on a track per lock.

    Times are those of the trace, by the monotonic clock.

    Args:
        trace: an event trace.
        path: file to write, replaced as a whole.

    Raises:
        RegattaError: the events are damaged, or the file cannot be written.
        OSError: a file cannot be read.

    Source: Perfetto, protos/perfetto/trace/trace_packet.proto, ftrace/ftrace_event_bundle.proto and
    track_event/track_event.proto.
    """
    # Here, so that other commands do not load the classes of all of Perfetto's messages.
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages

    objects = read_objects(trace.read_objects())
    with written(path) as temporary, temporary.open("wb") as file:
        packets = Packets(file, messages)
        _write_clocks(packets, trace)
        write_process_tree(packets, objects, trace.facts.begin_ns)
        scheduling = Scheduling(packets, objects)
        slices = _Slices(packets, objects)
        for events in _read(trace, len(objects)):
            scheduling.add(events)
            slices.add(events)
        scheduling.finish()
        slices.finish()
        packets.write()


def _write_clocks(packets: Packets, trace: Trace) -> None:
    """Declare the clock. Perfetto takes times of the scheduler for times since boot: both clocks are one."""
    messages, begin_ns = packets.messages, trace.facts.begin_ns
    snapshot = packets.add().clock_snapshot
    snapshot.primary_trace_clock = messages.BUILTIN_CLOCK_MONOTONIC
    snapshot.clocks.add(clock_id=messages.BUILTIN_CLOCK_MONOTONIC, timestamp=begin_ns)
    snapshot.clocks.add(clock_id=messages.BUILTIN_CLOCK_BOOTTIME, timestamp=begin_ns)
    if trace.facts.realtime_offset_ns is not None:
        realtime_ns = begin_ns + trace.facts.realtime_offset_ns
        snapshot.clocks.add(clock_id=messages.BUILTIN_CLOCK_REALTIME, timestamp=realtime_ns)


def _read(trace: Trace, objects: int) -> Iterator[Columns]:
    """Yield the columns of the events, piece by piece."""
    last_ns = 0
    try:
        with pq.ParquetFile(trace.events) as file:
            for batch in file.iter_batches(_ROWS, columns=EVENTS.names):
                events = columns_of(batch)
                times = events["time_ns"]
                if len(times) and np.diff(times, prepend=last_ns).min() < 0:
                    raise _damaged(trace, "events ordered by time", "a step back")
                for name in ("actor", "object", "peer"):
                    if len(times) and not -1 <= events[name].min() <= events[name].max() < objects:
                        raise _damaged(trace, f"{objects} objects", f"others in {name}")
                last_ns = int(times[-1]) if len(times) else last_ns
                yield events
    except pa.ArrowException as error:
        raise _damaged(trace, "a Parquet file", str(error)[:200]) from error


def _damaged(trace: Trace, expected: str, got: str) -> RegattaError:
    return RegattaError(str(trace.events), expected, got, "import it again")


class _Slices:
    """Encoder of slices. Its memory grows with the open slices only."""

    def __init__(self, packets: Packets, objects: Objects) -> None:
        """Write slices of `objects` to `packets`."""
        self._packets = packets
        self._objects = objects
        self._tracks = Tracks(packets, objects)
        event = packets.messages.TrackEvent
        self._begin, self._end, self._instant = (
            event.TYPE_SLICE_BEGIN,
            event.TYPE_SLICE_END,
            event.TYPE_INSTANT,
        )
        #: track -> open slices from the outermost inward; a waiting for a lock has the complement of its
        #: number
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
        chosen = np.isin(events["kind"], _KINDS) & (events["object"] >= 0)
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
    """Return the key of a request of `actor` to object `number`. Numbers of requests begin at 1, if any."""
    return (number, True, request) if request > 0 else (number, False, actor)
