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
from functools import partial
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
    Facts,
    Kind,
    ObjectTable,
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

    Times. The recorder writes ticks and, per chunk, the CLOCK_REALTIME of its beginning (see `WallClock`).
    The error of the conversion to CLOCK_MONOTONIC was measured on a virtual machine whose ticks are
    CLOCK_MONOTONIC: user events between two calls of System.nanoTime(), twice 1000 events of 20 JVMs per
    release.

        release   median distance of the calls   between the calls   largest error outside   median from the middle
        JDK 17    1.4 us                         98.7 %              0.13 us                 0.39 and 0.41 us
        JDK 25    0.7 us                         97.8 %              0.17 us                 0.02 us

    The error is the same for all events of a chunk. Where the recorder stores the beginning in whole ms, it
    is up to 1 ms, and the facts have a remark.

    Args:
        recording: a file that a JVM has finished.
        folder: for the trace; an older one there is replaced.
        java: the JVM whose `jfr` reads the recording.
        monotonic_offset_ns: CLOCK_REALTIME minus CLOCK_MONOTONIC during the recording. None: the trace keeps
            CLOCK_REALTIME.

    Raises:
        RegattaError: the recording is missing, incomplete, of another format, or without any event of the
            table above.
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


class _Skipped(Exception):
    """An event that is left out; the text says why."""


#: kinds of events at the begin and at the end of a span: the thread waits until a lock is granted; waits for
#: work that begins at once; executes a function
_GRANTED = ((Kind.REQUEST, Kind.WAIT), Kind.ACCEPT)
_DONE = ((Kind.REQUEST, Kind.ACCEPT, Kind.WAIT), Kind.FINISH)
_EXECUTED = ((Kind.ACCEPT,), Kind.FINISH)


class _Reader:
    """Objects and events of a recording."""

    def __init__(self, time_ns: Callable[[int], int]) -> None:
        self.jvm, self.cpus, self.pid = "", 0, NONE
        self.times = array("q")
        #: kind, actor, object, peer, request, value
        self._columns = [array("q") for _ in range(6)]
        self._objects = ObjectTable()
        self._requests = 0
        self._skipped: Counter[str] = Counter()
        self._time_ns = time_ns
        self._process = self.object("process", "java", parent=NONE)

    def read(self, event: Any) -> None:
        """Add an event as `jfr print --json` prints it."""
        kind, values = event["type"], event["values"]
        reader = _FACTS.get(kind) or _READERS.get(kind)
        try:
            if reader is None:
                raise _Skipped(f"unknown event {kind}")
            reader(self, values)
        except _Skipped as skipped:
            self._skipped[str(skipped)] += 1

    def remarks(self) -> list[str]:
        """Describe what was skipped."""
        return [f"{what}: {number} skipped" for what, number in sorted(self._skipped.items())]

    def object(self, kind: str, name: str, key: Hashable = None, parent: int | None = None) -> int:
        """Return the number of an object; without a key its name identifies it. No `parent`: the process."""
        above = self._process if parent is None else parent
        return self._objects.number((kind, name if key is None else key), kind, name, parent=above)

    def thread(self, value: Mapping[str, Any] | None) -> int:
        """Return the thread; the process where the recorder has lost it."""
        if not value:
            return self._process
        tid, number = int(value.get("osThreadId") or 0), int(value.get("javaThreadId") or 0)
        name = value.get("javaName") or value.get("osName") or _UNNAMED
        # Identifiers of the system are used again. A virtual thread has none.
        thread = self.object("thread", name, ("java", number) if number > 0 else ("system", tid, name))
        if tid > 0:
            self._objects.set(thread, tid=tid)
        return thread

    def span(self, values: Mapping[str, Any]) -> tuple[int, int]:
        """Return start and end in ns.

        Raises:
            _Skipped: the end is unknown.
        """
        printed_ns, duration_ns = parse_time(values["startTime"]), parse_duration(values["duration"])
        if duration_ns < 0:
            raise _Skipped("event with a negative duration")
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

    def request(
        self,
        kinds: tuple[tuple[Kind, ...], Kind],
        span: tuple[int, int],
        actor: int,
        of: int,
        *,
        peer: int = NONE,
        value: int = 0,
    ) -> None:
        """Add the events of a new request; peer and value are those of the last one."""
        self._requests += 1
        first, last = kinds
        for kind in first:
            self.add(span[0], kind, actor, of, request=self._requests)
        self.add(span[1], last, actor, of, peer=peer, request=self._requests, value=value)

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
        for number in self._objects.of_kinds("process", "thread"):
            self._objects.set(number, pid=self.pid)
        self._objects.write(folder)


def _lock(reader: _Reader, values: Mapping[str, Any], kind: str, peer: str = "", suffix: str = "") -> None:
    span = reader.span(values)
    name = ((values.get(kind) or {}).get("name") or _UNNAMED).replace("/", ".") + suffix
    lock = reader.object("lock", name, (name, values.get("address") or 0))
    actor, cause = reader.thread(values["eventThread"]), values.get(peer)
    reader.request(_GRANTED, span, actor, lock, peer=reader.thread(cause) if cause else NONE)


def _work(reader: _Reader, values: Mapping[str, Any], of: int) -> None:
    """Add a request whose work begins at once, and for which the thread waits."""
    span, actor = reader.span(values), reader.thread(values["eventThread"])
    # -1 at the end of a stream
    count = max(0, int(values.get("bytesRead") or values.get("bytesWritten") or 0))
    reader.request(_DONE, span, actor, of, value=count)


def _socket(reader: _Reader, values: Mapping[str, Any]) -> None:
    host = values.get("host") or values.get("address") or _UNNAMED
    name = f"[{host}]" if ":" in host else host
    _work(reader, values, reader.object("network", f"{name}:{values.get('port') or 0}", parent=NONE))


def _file(reader: _Reader, values: Mapping[str, Any]) -> None:
    _work(reader, values, reader.object("disk", values.get("path") or _UNNAMED, parent=NONE))


def _sleep(reader: _Reader, values: Mapping[str, Any]) -> None:
    _work(reader, values, reader.object("timer", "sleep", parent=NONE))


def _collector(reader: _Reader) -> int:
    return reader.object("thread", _COLLECTOR, ("system", 0, _COLLECTOR))


def _stall(reader: _Reader, values: Mapping[str, Any]) -> None:
    span, actor = reader.span(values), reader.thread(values["eventThread"])
    reader.request(_GRANTED, span, actor, reader.object("lock", _HEAP), peer=_collector(reader))


def _collection(reader: _Reader, values: Mapping[str, Any], whole: bool) -> None:
    """Add a collection, or a pause, which can have a thread."""
    actor = _collector(reader) if whole else reader.thread(values.get("eventThread"))
    span = reader.span(values)
    reader.request(_EXECUTED, span, actor, reader.object("function", values["name"] or _UNNAMED))


def _start(reader: _Reader, values: Mapping[str, Any]) -> None:
    if not values["thread"]:
        raise _Skipped("start of a thread without a name")
    thread, parent = reader.thread(values["thread"]), values.get("parentThread")
    peer = reader.thread(parent) if parent else NONE
    reader.add(reader.at_ns(values), Kind.WAKE, thread, NONE, peer=peer)


def _end(reader: _Reader, values: Mapping[str, Any]) -> None:
    if not values["thread"]:
        raise _Skipped("end of a thread without a name")
    thread = reader.thread(values["thread"])
    reader.add(reader.at_ns(values), Kind.SLEEP, thread, NONE, value=Sleep.ENDED)


def _jvm(reader: _Reader, values: Mapping[str, Any]) -> None:
    version = values.get("jvmVersion") or values.get("jvmName") or ""
    reader.jvm, reader.pid = version.partition(", built on")[0], int(values.get("pid") or NONE)


def _cpus(reader: _Reader, values: Mapping[str, Any]) -> None:
    reader.cpus = int(values.get("hwThreads") or 0)


_READERS: dict[str, Callable[[_Reader, Mapping[str, Any]], None]] = {
    "jdk.JavaMonitorEnter": partial(_lock, kind="monitorClass", peer="previousOwner"),
    # Another object than the monitor: who waits to be notified does not compete for it.
    "jdk.JavaMonitorWait": partial(_lock, kind="monitorClass", peer="notifier", suffix=".wait"),
    "jdk.ThreadPark": partial(_lock, kind="parkedClass"),
    "jdk.SocketRead": _socket,
    "jdk.SocketWrite": _socket,
    "jdk.FileRead": _file,
    "jdk.FileWrite": _file,
    "jdk.FileForce": _file,
    "jdk.ThreadSleep": _sleep,
    "jdk.GCPhasePause": partial(_collection, whole=False),
    "jdk.GarbageCollection": partial(_collection, whole=True),
    "jdk.ZAllocationStall": _stall,
    "jdk.ThreadStart": _start,
    "jdk.ThreadEnd": _end,
}
#: events about the JVM and its host
_FACTS: dict[str, Callable[[_Reader, Mapping[str, Any]], None]] = {
    "jdk.JVMInformation": _jvm,
    "jdk.CPUInformation": _cpus,
}
