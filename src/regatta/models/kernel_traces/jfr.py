"""Import a recording of the JVM's flight recorder (JFR) as an event trace.

    event of the JVM                         abstract events
    jdk.JavaMonitorEnter, jdk.ThreadPark     REQUEST, WAIT of a lock; ACCEPT at the end (`peer`: the previous owner)
    jdk.JavaMonitorWait                      the same of the lock CLASS.wait (`peer`: the thread that notifies)
    jdk.ZAllocationStall                     the same of the lock "Java heap" (`peer`: the collector)
    jdk.SocketRead, jdk.SocketWrite          REQUEST, ACCEPT, WAIT of a network; FINISH at the end (`value`: bytes)
    jdk.FileRead, jdk.FileWrite, ...Force    the same of a disk
    jdk.ThreadSleep                          the same of the timer `sleep`
    jdk.GCPhasePause, jdk.GarbageCollection  ACCEPT and FINISH of a function of the process
    jdk.ThreadStart, jdk.ThreadEnd           WAKE (`peer`: the parent), SLEEP (`value`: ended)

A lock has no FINISH, because the recorder does not say when a thread returns it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regatta.host.errors import RegattaError
from regatta.host.files import written
from regatta.models.kernel_traces.jfr_recording import (
    MONOTONIC_TICKS,
    Chunk,
    parse_duration,
    parse_time,
    read_chunks,
    stream_events,
    wall_clock,
)
from regatta.models.kernel_traces.model import (
    EVENTS,
    EVENTS_FILE,
    FACTS_FILE,
    NONE,
    OBJECTS,
    OBJECTS_FILE,
    Facts,
    Kind,
    Sleep,
    Trace,
    write_facts,
)

_MILLISECOND_NS = 1_000_000
_UNNAMED = "unnamed"
#: actor of a collection: the recorder does not name its threads
_COLLECTOR = "GC"
#: for which a thread waits in an allocation stall
_HEAP = "Java heap"


def import_jfr(
    recording: Path, folder: Path, *, java: str = "java", monotonic_offset_ns: int | None
) -> Trace:
    """Convert a recording to an event trace.

    Times. The recorder writes ticks and, per chunk, the CLOCK_REALTIME of its beginning (see `WallClock`). The error of the
    conversion to CLOCK_MONOTONIC was measured on a virtual machine whose ticks are CLOCK_MONOTONIC: user events between two calls
    of System.nanoTime(), twice 1000 events of 20 JVMs per release.

        release   median distance of the calls   between the calls   largest error outside   median from the middle
        JDK 17    1.4 us                         98.7 %              0.13 us                 0.39 and 0.41 us
        JDK 25    0.7 us                         97.8 %              0.17 us                 0.02 us

    The error is the same for all events of a chunk. Where the recorder stores the beginning in whole ms, it is up to 1 ms, and
    the facts have a remark.

    Args:
        recording: a file that a JVM has finished.
        folder: for the trace; an older one there is replaced.
        java: the JVM whose `jfr` reads the recording.
        monotonic_offset_ns: CLOCK_REALTIME minus CLOCK_MONOTONIC during the recording. None: the trace keeps CLOCK_REALTIME.

    Raises:
        RegattaError: the recording is missing, incomplete, of another format, or without any event of the table above.
    """
    chunks = read_chunks(recording)
    clock = wall_clock(chunks)
    offset_ns = monotonic_offset_ns or 0
    reader = _Reader(lambda printed_ns: clock.corrected_ns(printed_ns) - offset_ns)
    for number, event in enumerate(stream_events(recording, (*_READERS, *_FACTS), java), 1):
        try:
            reader.read(event)
        except Exception as error:
            kind = event.get("type", "") if isinstance(event, dict) else ""
            raise RegattaError(
                f"{recording}, event {number} {kind}".rstrip(),
                "the fields of JDK 17 to 25",
                repr(error)[:200],
                "read it with the jfr of the JVM that recorded it",
            ) from error
    if not reader.times:
        raise RegattaError(
            str(recording),
            "events of threads, such as jdk.ThreadPark",
            "none",
            "record with settings=profile",
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FACTS_FILE).unlink(missing_ok=True)
    reader.write(folder)
    begin_ns, end_ns = chunks[0].begin_ns, chunks[-1].begin_ns + chunks[-1].duration_ns
    return write_facts(
        folder,
        Facts(
            begin_ns=min(clock.corrected_ns(begin_ns) - offset_ns, min(reader.times)),
            end_ns=max(clock.corrected_ns(end_ns) - offset_ns, max(reader.times)),
            cpus=reader.cpus,
            source=f"JFR of {reader.jvm}" if reader.jvm else "JFR",
            clock="realtime" if monotonic_offset_ns is None else "monotonic",
            realtime_offset_ns=offset_ns,
            scheduled=False,
            remarks=(*_clock_remarks(chunks, clock.rate), *reader.remarks()),
        ),
    )


def _clock_remarks(chunks: list[Chunk], rate: float) -> list[str]:
    """Describe what limits the accuracy of the times."""
    remarks = []
    if all(chunk.begin_ns % _MILLISECOND_NS == 0 for chunk in chunks):
        remarks.append("clock: the recorder stores its start in whole ms, so all times can be off by 1 ms")
    if chunks[0].ticks_per_second != MONOTONIC_TICKS:
        drift = f"corrected by {1e6 * (rate - 1):.1f} ppm" if rate != 1 else "not corrected"
        remarks.append(f"clock: ticks of the processor, drift {drift}")
    return remarks


class _Reader:
    """Objects and events of a recording."""

    def __init__(self, time_ns: Callable[[int], int]) -> None:
        self.jvm, self.cpus = "", 0
        self._pid = NONE
        self.times = array("q")
        #: kind, actor, object, peer, request, value
        self._columns = [array("q") for _ in range(6)]
        self._objects: list[dict[str, Any]] = []
        self._ids: dict[Hashable, int] = {}
        self._requests = 0
        self._skipped: Counter[str] = Counter()
        self._time_ns = time_ns
        self._process = self.object("process", "java", parent=NONE)

    def read(self, event: Any) -> None:
        """Add an event as `jfr print --json` prints it."""
        kind, values = event["type"], event["values"]
        if kind in _FACTS:
            _FACTS[kind](self, values)
        elif kind in _READERS:
            _READERS[kind](self, values)
        else:
            self.skip(f"unknown event {kind}")

    def skip(self, what: str) -> None:
        """Count an event that is left out."""
        self._skipped[what] += 1

    def remarks(self) -> list[str]:
        """Describe what was skipped."""
        return [f"{what}: {number} skipped" for what, number in sorted(self._skipped.items())]

    def object(self, kind: str, name: str, key: Hashable = None, parent: int | None = None) -> int:
        """Return the identifier of an object, which is created at first use. Without a key its name identifies it."""
        identity = (kind, name if key is None else key)
        if identity not in self._ids:
            self._ids[identity] = len(self._objects)
            above = self._process if parent is None else parent
            self._objects.append(
                {
                    "id": len(self._objects),
                    "parent": above,
                    "kind": kind,
                    "name": name,
                    "pid": NONE,
                    "tid": NONE,
                }
            )
        return self._ids[identity]

    def thread(self, value: Mapping[str, Any] | None) -> int:
        """Return the thread; the process where the recorder has lost it."""
        if not value:
            return self._process
        tid, number = int(value.get("osThreadId") or 0), int(value.get("javaThreadId") or 0)
        name = value.get("javaName") or value.get("osName") or _UNNAMED
        # Identifiers of the system are used again. A virtual thread has none.
        thread = self.object("thread", name, ("java", number) if number > 0 else ("system", tid, name))
        if tid > 0:
            self._objects[thread]["tid"] = tid
        return thread

    def span(self, values: Mapping[str, Any]) -> tuple[int, int] | None:
        """Return start and end in ns; None, and count it, if the end is unknown."""
        printed_ns, duration_ns = parse_time(values["startTime"]), parse_duration(values["duration"])
        if duration_ns < 0:
            self.skip("event with a negative duration")
            return None
        return self._time_ns(printed_ns), self._time_ns(printed_ns + duration_ns)

    def at_ns(self, values: Mapping[str, Any]) -> int:
        """Return the time of an event without a duration."""
        return self._time_ns(parse_time(values["startTime"]))

    def add(
        self,
        time_ns: int,
        kind: Kind,
        actor: int,
        of: int,
        *,
        peer: int = NONE,
        request: int = NONE,
        value: int = 0,
    ) -> None:
        """Add an abstract event."""
        self.times.append(time_ns)
        for column, number in zip(self._columns, (kind, actor, of, peer, request, value), strict=True):
            column.append(number)

    def pair(self) -> int:
        """Return the number of a new request."""
        self._requests += 1
        return self._requests

    def write(self, folder: Path) -> None:
        """Write events, ordered by time, and objects."""
        times = np.array(self.times, dtype=np.int64)
        order = np.argsort(times, kind="stable")
        kind, actor, of, peer, request, value = (
            np.array(column, dtype=np.int64)[order] for column in self._columns
        )
        columns = [times[order], kind, np.full(len(order), NONE), actor, of, peer, request, value]
        arrays = [pa.array(column).cast(field.type) for column, field in zip(columns, EVENTS, strict=True)]
        with written(folder / EVENTS_FILE) as file:
            pq.write_table(pa.Table.from_arrays(arrays, schema=EVENTS), file, compression="zstd")
        for row in self._objects:
            if row["kind"] in ("process", "thread"):
                row["pid"] = self._pid
        with written(folder / OBJECTS_FILE) as file:
            pq.write_table(pa.Table.from_pylist(self._objects, schema=OBJECTS), file)

    def set_process(self, pid: int, jvm: str) -> None:
        """Set what the recording says of the JVM."""
        self.jvm, self._pid = jvm, pid


def _lock(reader: _Reader, values: Mapping[str, Any], field: str, suffix: str, peer: str | None) -> None:
    span = reader.span(values)
    if span is None:
        return
    name = ((values.get(field) or {}).get("name") or _UNNAMED).replace("/", ".") + suffix
    address = values.get("address") or 0
    lock = reader.object("lock", name, (name, address))
    actor = reader.thread(values["eventThread"])
    cause = values.get(peer) if peer else None
    _granted(reader, span, actor, lock, reader.thread(cause) if cause else NONE)


def _granted(reader: _Reader, span: tuple[int, int], actor: int, lock: int, by: int) -> None:
    """Add a request for which the thread waits until the resource is granted."""
    number = reader.pair()
    reader.add(span[0], Kind.REQUEST, actor, lock, request=number)
    reader.add(span[0], Kind.WAIT, actor, lock, request=number)
    reader.add(span[1], Kind.ACCEPT, actor, lock, peer=by, request=number)


def _work(reader: _Reader, values: Mapping[str, Any], of: int, value: int) -> None:
    """Add a request whose work begins at once, and for which the thread waits."""
    span = reader.span(values)
    if span is None:
        return
    actor, number = reader.thread(values["eventThread"]), reader.pair()
    for kind in (Kind.REQUEST, Kind.ACCEPT, Kind.WAIT):
        reader.add(span[0], kind, actor, of, request=number)
    reader.add(span[1], Kind.FINISH, actor, of, request=number, value=value)


def _enter(reader: _Reader, values: Mapping[str, Any]) -> None:
    _lock(reader, values, "monitorClass", "", "previousOwner")


def _wait(reader: _Reader, values: Mapping[str, Any]) -> None:
    # Another object than the monitor: who waits to be notified does not compete for it.
    _lock(reader, values, "monitorClass", ".wait", "notifier")


def _park(reader: _Reader, values: Mapping[str, Any]) -> None:
    _lock(reader, values, "parkedClass", "", None)


def _socket(reader: _Reader, values: Mapping[str, Any]) -> None:
    host = values.get("host") or values.get("address") or _UNNAMED
    name = f"[{host}]" if ":" in host else host
    port = values.get("port") or 0
    of = reader.object("network", f"{name}:{port}", parent=NONE)
    _work(reader, values, of, _bytes(values))


def _file(reader: _Reader, values: Mapping[str, Any]) -> None:
    of = reader.object("disk", values.get("path") or _UNNAMED, parent=NONE)
    _work(reader, values, of, _bytes(values))


def _bytes(values: Mapping[str, Any]) -> int:
    # -1 at the end of a stream
    return max(0, int(values.get("bytesRead") or values.get("bytesWritten") or 0))


def _sleep(reader: _Reader, values: Mapping[str, Any]) -> None:
    _work(reader, values, reader.object("timer", "sleep", parent=NONE), 0)


def _pause(reader: _Reader, values: Mapping[str, Any]) -> None:
    _function(reader, values, values["name"], reader.thread(values.get("eventThread")))


def _collection(reader: _Reader, values: Mapping[str, Any]) -> None:
    _function(reader, values, values["name"], _collector(reader))


def _collector(reader: _Reader) -> int:
    return reader.object("thread", _COLLECTOR, ("system", 0, _COLLECTOR))


def _stall(reader: _Reader, values: Mapping[str, Any]) -> None:
    span = reader.span(values)
    if span is not None:
        actor = reader.thread(values["eventThread"])
        _granted(reader, span, actor, reader.object("lock", _HEAP), _collector(reader))


def _function(reader: _Reader, values: Mapping[str, Any], name: str | None, actor: int) -> None:
    span = reader.span(values)
    if span is None:
        return
    number, of = reader.pair(), reader.object("function", name or _UNNAMED)
    reader.add(span[0], Kind.ACCEPT, actor, of, request=number)
    reader.add(span[1], Kind.FINISH, actor, of, request=number)


def _start(reader: _Reader, values: Mapping[str, Any]) -> None:
    if not values["thread"]:
        return reader.skip("start of a thread without a name")
    thread, parent = reader.thread(values["thread"]), values.get("parentThread")
    peer = reader.thread(parent) if parent else NONE
    return reader.add(reader.at_ns(values), Kind.WAKE, thread, NONE, peer=peer)


def _end(reader: _Reader, values: Mapping[str, Any]) -> None:
    if not values["thread"]:
        return reader.skip("end of a thread without a name")
    thread = reader.thread(values["thread"])
    return reader.add(reader.at_ns(values), Kind.SLEEP, thread, NONE, value=Sleep.ENDED)


def _jvm(reader: _Reader, values: Mapping[str, Any]) -> None:
    version = values.get("jvmVersion") or values.get("jvmName") or ""
    reader.set_process(int(values.get("pid") or NONE), version.partition(", built on")[0])


def _cpus(reader: _Reader, values: Mapping[str, Any]) -> None:
    reader.cpus = int(values.get("hwThreads") or 0)


_READERS: dict[str, Callable[[_Reader, Mapping[str, Any]], None]] = {
    "jdk.JavaMonitorEnter": _enter,
    "jdk.JavaMonitorWait": _wait,
    "jdk.ThreadPark": _park,
    "jdk.SocketRead": _socket,
    "jdk.SocketWrite": _socket,
    "jdk.FileRead": _file,
    "jdk.FileWrite": _file,
    "jdk.FileForce": _file,
    "jdk.ThreadSleep": _sleep,
    "jdk.GCPhasePause": _pause,
    "jdk.GarbageCollection": _collection,
    "jdk.ZAllocationStall": _stall,
    "jdk.ThreadStart": _start,
    "jdk.ThreadEnd": _end,
}
#: events about the JVM and its host
_FACTS: dict[str, Callable[[_Reader, Mapping[str, Any]], None]] = {
    "jdk.JVMInformation": _jvm,
    "jdk.CPUInformation": _cpus,
}
