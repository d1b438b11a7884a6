"""The states of every thread over the window: on which CPU and for what it runs, for what it waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from regatta.host.foreign import foreign
from regatta.models.kernel_traces.filling import Columns, Filled, Mask, Nesting, Numbers, columns_of
from regatta.models.kernel_traces.jobs import USED, WORKING, Jobs, find_jobs, transaction_of
from regatta.models.kernel_traces.model import KERNEL_LOCKS, NONE, Kind, Sleep, Trace
from regatta.models.kernel_traces.text import connect, quoted

#: rows that are converted at once
BATCH = 1 << 20
#: interrupts that last longer are not seen if they begin before a window
_LONGEST_INTERRUPT_NS = 10_000_000


_OWN_ONLY = "not (actor in (select id from others) and object in (select id from restricted))"
_Row = tuple[int, int, int, int, int, int, int]


class State(IntEnum):
    """State of a thread."""

    #: the idle thread of a CPU has it
    IDLE = 0
    #: on a CPU, in the program itself
    USER = 1
    #: on a CPU, in a system call, or a thread of the kernel
    KERNEL = 2
    #: on a CPU that handles an interrupt meanwhile; `object` is the interrupt
    INTERRUPT = 3
    #: on a CPU, in a loop until another CPU leaves a lock; `object` is the lock
    SPIN = 4
    #: waits for a CPU
    READY = 5
    #: waits for something else; `object` is the lock, or the interrupt or thread that woke it
    ASLEEP = 6
    #: has ended
    ENDED = 7


#: a thread on a CPU
RUNNING = (State.USER, State.KERNEL, State.INTERRUPT, State.SPIN)


@dataclass(frozen=True)
class Batch:
    """Segments of threads, from an event of the thread to its next one. Arrays of equal length."""

    actor: Numbers
    begin_ns: Numbers
    end_ns: Numbers
    state: Numbers
    object: Numbers
    cpu: Numbers
    call: Numbers
    phase: Numbers
    #: index of the transaction, or NONE; and that of the last one before
    transaction: Numbers
    last: Numbers
    #: whether the thread slept before a wake-up, and whether a phase is another one than before
    woken: Mask
    entered: Mask
    #: the event at the begin, and its object, or the cause of a wake-up; NONE: the window began
    kind: Numbers
    event_object: Numbers

    def __len__(self) -> int:
        return len(self.actor)


class Timeline:
    """The segments of a trace, thread by thread in order of time."""

    def __init__(self, trace: Trace, scratch: Path, batch: int = BATCH) -> None:
        self.trace = trace
        self._scratch = scratch
        self._batch = batch
        table = trace.read_objects()
        self.kinds: list[str] = table.column("kind").to_pylist()
        self.names: list[str] = table.column("name").to_pylist()
        self.parents: list[int] = table.column("parent").to_pylist()
        self._pids: list[int] = table.column("pid").to_pylist()
        self._kind_of = np.array([*self.kinds, ""])
        self._kernel_thread = np.array(
            [*(self.names[parent] == "kernel" if parent >= 0 else False for parent in self.parents), False]
        )
        self._kernel_lock = np.array([*(name == KERNEL_LOCKS for name in self.names), False])
        #: whether the transactions are those of other processes than the measured command
        self.of_others = False
        self._connection = connect_events(trace, scratch)
        self.jobs: Jobs = self._jobs()

    def _jobs(self) -> Jobs:
        wanted = [at for at, kind in enumerate(self.kinds) if kind in WORKING + USED]
        if not wanted:
            return Jobs()
        connection = self._connection
        _add_ids(connection, wanted=wanted, others=self._others(), restricted=self._restricted())
        own = bool(self.trace.facts.own)
        found = find_jobs(self._interactions(connection, _OWN_ONLY if own else "true"), self.kinds)
        if own and not found.transactions and "transaction" in self.kinds:
            # The measured processes may be in a container, or started by another service.
            found = find_jobs(self._interactions(connection, "true"), self.kinds)
            self.of_others = bool(found.transactions)
        return found

    def _interactions(self, connection: duckdb.DuckDBPyConnection, which: str) -> Iterator[_Row]:
        cursor = connection.execute(
            "select n, time_ns, kind, actor, object, request, value from events semi join wanted on object = id"
            f" where kind >= {int(Kind.REQUEST)} and {which} order by n"
        )
        return iter(_rows(cursor))

    def _others(self) -> list[int]:
        """Return the threads that are not of the measured command."""
        own = set(self.trace.facts.own)
        threads = (at for at, kind in enumerate(self.kinds) if kind == "thread")
        return [at for at in threads if own and self._pids[at] and self._pids[at] not in own]

    def _restricted(self) -> list[int]:
        """Return the objects of which only uses by the measured command count: not disks and the kernel."""
        return [
            at
            for at, kind in enumerate(self.kinds)
            if kind in WORKING or (kind == "lock" and not self._kernel_lock[at])
        ]

    def batches(self) -> Iterator[Batch]:
        """Yield the segments, none without scheduling. The result does not depend on where batches end."""
        if self.trace.facts.scheduled:
            yield from self._segments(self._connection.cursor(), f"actor <> {NONE}")

    def window(self, actors: Sequence[int], begin_ns: int, end_ns: int) -> Iterator[Batch]:
        """Yield the segments of some threads that touch a window, equal to those of `batches`.

        Of the events before the window, only those are read that decide the states in it. Segments before the
        window are therefore wrong, and left out.
        """
        connection = connect_events(self.trace, self._scratch)
        try:
            often = [at for at, kind in enumerate(self.kinds) if kind in ("system-call", "function")]
            calls = [at for at in often if self.kinds[at] == "system-call"]
            _add_ids(connection, wanted=actors, often=often, calls=calls)
            connection.execute(
                "create table single as"
                # the last event and the last call of each thread before the window, and the next event after
                # it, which can have the cause of a wake-up
                " select max(n) as n from events semi join wanted on actor = wanted.id"
                f" where time_ns < {begin_ns} group by actor union all"
                " select max(n) from events semi join wanted on actor = wanted.id"
                f" where time_ns < {begin_ns} and object in (select id from calls)"
                f" and kind in ({int(Kind.ACCEPT)}, {int(Kind.FINISH)}) group by actor union all"
                " select min(n) from events semi join wanted on actor = wanted.id"
                f" where time_ns > {end_ns} group by actor"
            )
            rows = self._segments(
                connection,
                "actor in (select id from wanted) and (n in (select n from single)"
                f" or time_ns <= {end_ns} and (time_ns >= {begin_ns} or kind < {int(Kind.INTERRUPT)}"
                f" or kind <= {int(Kind.INTERRUPT_END)} and time_ns >= {begin_ns - _LONGEST_INTERRUPT_NS}"
                f" or kind > {int(Kind.INTERRUPT_END)} and object not in (select id from often)))",
            )
            for one in rows:
                kept = (one.end_ns >= begin_ns) & (one.begin_ns <= end_ns)
                yield Batch(**{name: values[kept] for name, values in vars(one).items()})
        finally:
            connection.close()

    def _segments(self, connection: duckdb.DuckDBPyConnection, which: str) -> Iterator[Batch]:
        reader = connection.sql(
            f"select n, time_ns, kind, cpu, actor, object, peer, value from events where {which} order by actor, n"
        ).to_arrow_reader(self._batch)
        states = _States(self)
        for rows in reader:
            yield from states.convert(rows)
        yield from states.finish()


def connect_events(trace: Trace, scratch: Path) -> duckdb.DuckDBPyConnection:
    """Return a database with the view `events`, in which `n` numbers the rows; `scratch`: folder to spill into."""
    connection = connect(scratch)
    try:
        with foreign(trace.events, "the events of a recording", "record them again"):
            connection.execute(
                "create view events as select *, file_row_number as n"
                f" from read_parquet({quoted(trace.events)}, file_row_number=true)"
            )
    except BaseException:
        connection.close()
        raise
    return connection


def _add_ids(connection: duckdb.DuckDBPyConnection, **tables: Sequence[int]) -> None:
    """Create tables of objects."""
    for name, ids in tables.items():
        connection.execute(f"create table {name} as select unnest(?::integer[]) as id", [list(ids)])


def _rows(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[int, int, int, int, int, int, int]]:
    while rows := cursor.fetchmany(100_000):
        yield from rows


class _States:
    """Rows of events, thread by thread, to segments; carries the state from batch to batch."""

    def __init__(self, timeline: Timeline) -> None:
        self._t = timeline
        self._facts = timeline.trace.facts
        self._nesting = Nesting(NONE)
        self._place = Filled(NONE)
        self._cpu = Filled(NONE)
        self._call = Filled(NONE)
        self._phase = Filled(NONE)
        self._kernel_lock = Filled(NONE)
        self._lock = Filled(NONE)
        self._last = Filled(NONE)
        self._actor = NONE
        #: the last segment, whose end is not known yet
        self._open: Columns | None = None

    def convert(self, batch: pa.RecordBatch) -> Iterator[Batch]:
        rows = columns_of(batch)
        if not len(rows["n"]):
            return
        after = self._after(rows)
        if self._open is not None:
            after = {name: np.concatenate((self._open[name], values)) for name, values in after.items()}
        self._open = {name: values[-1:] for name, values in after.items()}
        yield self._segments(
            after, after["actor"][1:], after["time"][1:], after["kind"][1:], after["peer"][1:]
        )

    def finish(self) -> Iterator[Batch]:
        if self._open is not None:
            nothing = np.array([NONE])
            yield self._segments(
                {name: np.concatenate((values, values)) for name, values in self._open.items()},
                nothing, np.array([self._facts.end_ns]), nothing, nothing,
            )  # fmt: skip

    def _after(self, rows: Columns) -> Columns:
        """Return the state of the thread after each row."""
        kind, actor, target = rows["kind"], rows["actor"], rows["object"]
        first = np.diff(actor, prepend=self._actor) != 0
        self._actor = int(actor[-1])
        of = self._t._kind_of[target]
        requested, accepted, finished = kind == Kind.REQUEST, kind == Kind.ACCEPT, kind == Kind.FINISH
        resumed = kind == Kind.RESUME
        values, known, woken = self._places(kind, rows["value"], first)
        place = self._place(values, known, first)
        phase_rows = (of == "phase") & (accepted | finished)
        phase = self._phase(np.where(accepted, target, NONE), phase_rows, first)
        phase_before = np.where(first, NONE, np.concatenate(([self._phase_before], phase[:-1])))
        self._phase_before = int(phase[-1])
        calls = (of == "system-call") & (accepted | finished)
        locks = (of == "lock") & (requested | accepted)
        kernel = self._t._kernel_lock[target]
        transaction = transaction_of(self._t.jobs, actor, rows["n"])
        return {
            "actor": actor,
            "time": rows["time_ns"],
            "kind": kind,
            "object": target,
            "peer": rows["peer"],
            # The first event of a thread shows its state before, unless the thread is new.
            "woken": woken,
            "entered": phase_rows & accepted & (phase != phase_before),
            "first": (first & ~((kind == Kind.WAKE) & (rows["value"] == 1))).astype(np.int64),
            "place": place,
            "cpu": self._cpu(rows["cpu"], kind != Kind.WAKE, first),
            "call": self._call(np.where(accepted, target, NONE), calls, first),
            "phase": phase,
            "inner": self._nesting(kind == Kind.INTERRUPT, kind == Kind.INTERRUPT_END, resumed, target, first),
            "kernel_lock": self._kernel_lock(np.where(requested, target * 2 + (rows["value"] == 1), NONE), locks & kernel, first),
            "lock": self._lock(np.where(requested, target, NONE), locks & ~kernel, first),
            "transaction": transaction,
            "last": self._last(transaction, transaction != NONE, first),
        }  # fmt: skip

    def _places(self, kind: Numbers, value: Numbers, first: Mask) -> tuple[Numbers, Mask, Mask]:
        """Return where events put the thread, which of them do, and which wake a thread that slept."""
        ended = (kind == Kind.SLEEP) & (value == Sleep.ENDED)
        values = np.select(
            [kind == Kind.PREEMPT, ended, kind == Kind.SLEEP, kind == Kind.WAKE],
            [_READY, _ENDED, _ASLEEP, _READY],
            _ON,
        )
        known = kind != Kind.WAKE
        # A wake-up of a thread that is awake changes nothing: it counts if the last other event put the
        # thread to sleep.
        previous = np.concatenate(([self._slept if not first[0] else 1], kind[:-1] == Kind.SLEEP)).astype(
            bool
        )
        previous |= first
        woken = previous & (kind == Kind.WAKE)
        self._slept = int(kind[-1] == Kind.SLEEP)
        return values, known | woken, woken

    _slept = 0
    _phase_before = NONE

    def _segments(
        self,
        after: Columns,
        next_actor: Numbers,
        next_time: Numbers,
        next_kind: Numbers,
        next_peer: Numbers,
    ) -> Batch:
        """Return the segments of all rows but the last, and those from the window's begin to first rows."""
        a = {name: values[:-1] for name, values in after.items()}
        same = next_actor == a["actor"]
        end = np.where(same, next_time, self._facts.end_ns)
        end = np.maximum(end, a["time"])
        woken = same & (next_kind == Kind.WAKE)
        idle = self._t._kind_of[a["actor"]] == "idle"
        state, target = self._states(a, idle, np.where(woken, next_peer, NONE))
        columns = {
            "actor": a["actor"], "begin_ns": a["time"], "end_ns": end, "state": state, "object": target, "cpu": a["cpu"],
            "call": a["call"], "phase": a["phase"], "transaction": a["transaction"], "last": a["last"],
            "woken": a["woken"], "entered": a["entered"], "kind": a["kind"],
            "event_object": np.where(a["kind"] == Kind.WAKE, a["peer"], a["object"]),
        }  # fmt: skip
        heads = np.flatnonzero(a["first"])
        if len(heads):
            columns = {
                name: np.concatenate((values, self._head(name, a, heads, idle)))
                for name, values in columns.items()
            }
        return Batch(**columns)

    def _states(self, a: Columns, idle: Mask, cause: Numbers) -> tuple[Numbers, Numbers]:
        kernel_lock = np.where(a["kernel_lock"] == NONE, NONE, a["kernel_lock"] >> 1)
        spins = (a["kernel_lock"] != NONE) & (a["kernel_lock"] & 1 == 1)
        waits = np.where(kernel_lock != NONE, kernel_lock, a["lock"])
        on = a["place"] == _ON
        in_kernel = (a["call"] != NONE) | self._t._kernel_thread[a["actor"]]
        nothing = np.full(len(on), NONE, np.int64)
        cases = [
            (a["place"] == _ENDED, int(State.ENDED), nothing),
            (a["place"] == _ASLEEP, int(State.ASLEEP), np.where(waits != NONE, waits, cause)),
            (a["place"] == _READY, int(State.READY), nothing),
            (on & (a["inner"] != NONE), int(State.INTERRUPT), a["inner"]),
            (on & idle, int(State.IDLE), nothing),
            (on & spins, int(State.SPIN), kernel_lock),
            (on & in_kernel, int(State.KERNEL), a["call"]),
        ]
        conditions, states, objects = (list(column) for column in zip(*cases, strict=True))
        state: Numbers = np.select(conditions, states, int(State.USER))
        target: Numbers = np.select(conditions, objects, NONE)
        return state, target

    def _head(self, name: str, a: Columns, heads: NDArray[np.intp], idle: Mask) -> Numbers:
        """Return the segments before the first events of threads, from what these say of the time before."""
        kind = a["kind"][heads]
        if name == "actor":
            return a["actor"][heads]
        if name == "begin_ns":
            return np.minimum(self._facts.begin_ns, a["time"][heads])
        if name == "end_ns":
            return a["time"][heads]
        # The end of a call: it has run since the window began, or since a sleep, which would show.
        called = (kind == Kind.FINISH) & (self._t._kind_of[a["object"][heads]] == "system-call")
        if name == "state":
            running = np.where(idle[heads], int(State.IDLE), int(State.USER))
            running = np.where(called | self._t._kernel_thread[a["actor"][heads]], int(State.KERNEL), running)
            waits = [int(State.READY), int(State.ASLEEP)]
            return np.select([kind == Kind.RESUME, kind == Kind.WAKE], waits, running)
        if name == "object":
            return np.where(kind == Kind.WAKE, a["peer"][heads], np.where(called, a["object"][heads], NONE))
        if name == "cpu":
            return np.where((kind == Kind.RESUME) | (kind == Kind.WAKE), NONE, a["cpu"][heads])
        if name in ("woken", "entered"):
            return np.zeros(len(heads), bool)
        return np.full(len(heads), NONE, np.int64)


_ON, _READY, _ASLEEP, _ENDED = 1, 2, 3, 4
