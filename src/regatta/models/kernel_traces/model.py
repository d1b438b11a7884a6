"""The format of an event trace: `events.parquet`, `objects.parquet` and `trace.json`. See docs/events.md.

The abstraction is that of Horikawa, A Framework for Performance Evaluation Based on Event Tracing (2000),
section 2: objects, four events of their interaction, and the events of the state diagram of a CPU. Nothing in
it depends on an operating system.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from regatta.host.errors import RegattaError
from regatta.host.files import written
from regatta.models.recordings import facts as recorded
from regatta.models.recordings.tables import check_table, read_table

VERSION = 1
EVENTS_FILE = "events.parquet"
OBJECTS_FILE = "objects.parquet"
FACTS_FILE = "trace.json"
#: in a column of object identifiers: none
NONE = -1
#: causes for which a thread sleeps, by the kind of the object that ended it
CAUSES = ("lock", "disk", "network", "timer", "interrupt", "process", "unknown")
#: name of the object that stands for all spin locks of the kernel
KERNEL_LOCKS = "kernel locks"


class Kind(IntEnum):
    """Abstract events (the paper's sections 2.2.1 and 2.2.2)."""

    #: a thread asks for a CPU: `actor` is woken, `peer` is the cause (a thread or an interrupt); `value` 1:
    #: it is new
    WAKE = 1
    #: a CPU accepts a thread
    RESUME = 2
    #: a thread leaves its CPU, but still asks for one
    PREEMPT = 3
    #: a thread leaves its CPU and waits; `value` is one of `Sleep`
    SLEEP = 4
    #: an interrupt (`object`) begins and ends on a CPU; `actor` is the interrupted thread
    INTERRUPT = 5
    INTERRUPT_END = 6
    #: `actor` asks `object` for work, or for a resource; `request` pairs it with accept and finish
    REQUEST = 7
    #: `object` begins the work, or grants the resource
    ACCEPT = 8
    #: the work is done, or the resource is returned
    FINISH = 9
    #: `actor` pauses until its request is finished
    WAIT = 10


class Sleep(IntEnum):
    """How a thread sleeps."""

    #: until an event, which may never happen
    INTERRUPTIBLE = 0
    #: until a device answers, as a rule
    UNINTERRUPTIBLE = 1
    #: the thread has ended
    ENDED = 2


#: kinds of objects -> description
OBJECT_KINDS = {
    "cpu": "physical: a processor",
    "disk": "physical: a block device",
    "network": "physical: the network; also the interrupts that receive and send packets",
    "timer": "physical: the clock; also its interrupts",
    "interrupt": "physical: any other source of interrupts",
    "process": "logical: a process, the parent of its threads",
    "thread": "logical: a thread of execution",
    "idle": "logical: the idle thread of a CPU",
    "system-call": "logical: a function of the kernel",
    "function": "logical: a function of a program",
    "phase": "logical: a part of the work of a thread, until the next phase begins",
    "transaction": "logical: requests from outside the system, such as connections; `request` numbers them",
    "lock": "logical resource: at most one owner at a time, as a rule",
    "client": "external: who sends requests from outside",
}

EVENTS = pa.schema(
    [
        ("time_ns", pa.int64()),
        ("kind", pa.uint8()),
        ("cpu", pa.int16()),
        ("actor", pa.int32()),
        ("object", pa.int32()),
        ("peer", pa.int32()),
        ("request", pa.int64()),
        ("value", pa.int64()),
    ]
)

OBJECTS = pa.schema(
    [
        ("id", pa.int32()),
        ("parent", pa.int32()),
        ("kind", pa.string()),
        ("name", pa.string()),
        ("pid", pa.int32()),
        ("tid", pa.int32()),
    ]
)


class ObjectTable:
    """The objects of a trace that is written, numbered as they are found."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._known: dict[Hashable, int] = {}

    def number(self, key: Hashable, kind: str, name: str, **others: int) -> int:
        """Return the number of an object, which is added at its first use.

        Args:
            key: what identifies it.
            kind, name, others: its row of `OBJECTS`; a column that is not given has no object or number.
        """
        found = self._known.setdefault(key, len(self._rows))
        if found == len(self._rows):
            row = {"id": found, "parent": NONE, "kind": kind, "name": name, "pid": NONE, "tid": NONE}
            self._rows.append(row | others)
        return found

    def set(self, number: int, **columns: int) -> None:
        """Change columns of an object."""
        self._rows[number].update(columns)

    def of_kinds(self, *kinds: str) -> list[int]:
        """Return the numbers of the objects of some kinds."""
        return [at for at, row in enumerate(self._rows) if row["kind"] in kinds]

    def write(self, folder: Path) -> None:
        """Write the objects of the trace in a folder."""
        with written(folder / OBJECTS_FILE) as file:
            pq.write_table(pa.Table.from_pylist(self._rows, schema=OBJECTS), file)


_FIX = "import it again"
_EVENTS: recorded.Ranges = {
    "time_ns": (0, recorded.MOST),
    "kind": (min(Kind), max(Kind)),
    "cpu": (NONE, recorded.MOST_CPUS - 1),
    "value": (0, recorded.MOST),
}
_FACTS: recorded.Ranges = {
    "begin_ns": (0, recorded.MOST),
    "end_ns": (0, recorded.MOST),
    "cpus": (1, recorded.MOST_CPUS),
    "lost": (0, recorded.MOST),
    "realtime_offset_ns": (-recorded.MOST, recorded.MOST),
    "own": (0, recorded.MOST_PIDS),
}


@dataclass(frozen=True)
class Facts:
    """What `trace.json` says of a whole trace. Times are in ns of `clock`."""

    begin_ns: int
    end_ns: int
    cpus: int
    #: number of events lost for lack of space, per CPU number
    lost: Mapping[str, int] = field(default_factory=dict)
    #: program and format that the trace was read from
    source: str = ""
    host: str = ""
    kernel: str = ""
    clock: str = "monotonic"
    #: time since 1970 minus the time of `clock`; None: unknown
    realtime_offset_ns: int | None = None
    #: processes of the measured command; only their transactions and locks count, unless they have none.
    #: Empty: all processes
    own: tuple[int, ...] = ()
    #: whether the trace shows when threads run: an event of a thread means that it does
    scheduled: bool = True
    #: what the reader noticed, such as lines it skipped
    remarks: tuple[str, ...] = ()
    version: int = VERSION

    @property
    def seconds(self) -> float:
        """Length of the window in seconds."""
        return (self.end_ns - self.begin_ns) / 1e9


@dataclass(frozen=True)
class Trace:
    """An event trace on disk."""

    folder: Path
    facts: Facts

    @property
    def events(self) -> Path:
        """Events, ordered by time."""
        return self.folder / EVENTS_FILE

    @property
    def objects(self) -> Path:
        """Objects; each row's `id` is its position."""
        return self.folder / OBJECTS_FILE

    def read_objects(self) -> pa.Table:
        """Return the table of objects."""
        return pq.read_table(self.objects, schema=OBJECTS)


def write_facts(folder: Path, facts: Facts) -> Trace:
    """Write `trace.json` last: a folder with it is complete."""
    recorded.write_facts(folder / FACTS_FILE, facts, (EVENTS_FILE, OBJECTS_FILE))
    return Trace(folder, facts)


def open_trace(folder: Path) -> Trace:
    """Open a trace, and check all its rows.

    Raises:
        RegattaError: it is incomplete, damaged, of another version, or no trace.
    """
    path = folder / FACTS_FILE
    facts = recorded.read_facts(Facts, path, "an event trace", _FACTS, _FIX)
    check_window(path, facts.begin_ns, facts.end_ns, facts.lost, _FIX)
    trace = Trace(folder, facts)
    last = _check_objects(trace) - 1
    objects = dict.fromkeys(("actor", "object", "peer"), (NONE, last))
    check_table(trace.events, EVENTS, _FIX, {**_EVENTS, **objects}, order="time_ns")
    return trace


def check_window(path: Path, begin_ns: int, end_ns: int, lost: Mapping[str, int], fix: str) -> None:
    """Check what the ranges of single facts do not say.

    Raises:
        RegattaError: the window ends before it begins, or a name in `lost` is no CPU.
    """
    if end_ns < begin_ns:
        raise RegattaError(f"{path}: end_ns", f"{begin_ns} (begin_ns) or more", str(end_ns), fix)
    for cpu in lost:
        if not (cpu.isascii() and cpu.isdigit() and len(cpu) <= 4):
            raise RegattaError(f"{path}: lost", "numbers of CPUs", repr(cpu)[:100], fix)


def _check_objects(trace: Trace) -> int:
    """Return the number of objects."""
    table = read_table(trace.objects, OBJECTS, _FIX)
    if table["id"].to_pylist() != list(range(len(table))):
        raise RegattaError(str(trace.objects), "ids that count from 0", "others", _FIX)
    unknown = set(table["kind"].unique().to_pylist()) - set(OBJECT_KINDS)
    if unknown:
        raise RegattaError(
            str(trace.objects), f"kinds {', '.join(OBJECT_KINDS)}", repr(min(unknown))[:100], _FIX
        )
    if len(table):
        check_table(trace.objects, OBJECTS, _FIX, {"parent": (NONE, len(table) - 1)})
    return len(table)
