"""The format of an event trace: a folder with `events.parquet`, `objects.parquet` and `trace.json`. See docs/events.md.

The abstraction is that of Horikawa, A Framework for Performance Evaluation Based on Event Tracing (2000), section 2: objects,
four events of their interaction, and the events of the state diagram of a CPU. Nothing in it depends on an operating system.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from regatta.host.errors import RegattaError
from regatta.host.files import parse_object, write_object

VERSION = 1
EVENTS_FILE = "events.parquet"
OBJECTS_FILE = "objects.parquet"
FACTS_FILE = "trace.json"
#: in a column of object identifiers: none
NONE = -1


class Kind(IntEnum):
    """Abstract events (the paper's sections 2.2.1 and 2.2.2)."""

    #: a thread asks for a CPU: `actor` is woken, `peer` is the cause (a thread or an interrupt); `value` 1: it is new
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
    #: processes of the measured command; only their transactions and locks count, unless they have none. Empty: all processes
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
    write_object(folder / FACTS_FILE, asdict(facts))
    return Trace(folder, facts)


def open_trace(folder: Path) -> Trace:
    """Open a trace.

    Raises:
        RegattaError: it is incomplete, of another version, or no trace.
    """
    path = folder / FACTS_FILE
    try:
        told = parse_object(path)
        facts = Facts(
            **{**told, "remarks": tuple(told.get("remarks", ())), "own": tuple(told.get("own", ()))}
        )
    except OSError as error:
        raise RegattaError(
            str(folder), "the folder of an event trace", error.strerror or str(error), "import it again"
        ) from error
    except (ValueError, TypeError) as error:
        raise RegattaError(str(path), "facts of an event trace", str(error), "import it again") from error
    if facts.version != VERSION:
        raise RegattaError(str(path), f"version {VERSION}", str(facts.version), "import it again")
    for name, schema in ((EVENTS_FILE, EVENTS), (OBJECTS_FILE, OBJECTS)):
        try:
            found = pq.read_schema(folder / name)
        except (OSError, pa.ArrowException) as error:
            raise RegattaError(
                str(folder / name), "a Parquet file", str(error)[:200], "import it again"
            ) from error
        if [(one.name, one.type) for one in found] != [(one.name, one.type) for one in schema]:
            raise RegattaError(
                str(folder / name), f"columns {schema.names}", str(found.names), "import it again"
            )
    return Trace(folder, facts)
