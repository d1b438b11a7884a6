"""Convert what a kernel recorded to rows of abstract events and objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from regatta.host.values.events import MARK
from regatta.models.kernel_traces.filling import Columns, Filled, Mask, Nesting, Numbers, columns_of
from regatta.models.kernel_traces.model import EVENTS, KERNEL_LOCKS, NONE, Kind, ObjectTable, Sleep
from regatta.models.kernel_traces.text import CODES, PROBE, Read

_BATCH = 1 << 20
#: words of marks
_KINDS = {"request": Kind.REQUEST, "accept": Kind.ACCEPT, "finish": Kind.FINISH, "wait": Kind.WAIT}
#: rows of the raw table: state of the thread that leaves its CPU -> kind and value
_LEAVES = {
    0: (Kind.PREEMPT, 0),
    1: (Kind.SLEEP, Sleep.INTERRUPTIBLE),
    2: (Kind.SLEEP, Sleep.UNINTERRUPTIBLE),
    3: (Kind.SLEEP, Sleep.ENDED),
}
#: deferred interrupts of Linux -> kind of object
_SOFT = {
    "NET_RX": "network",
    "NET_TX": "network",
    "BLOCK": "disk",
    "IRQ_POLL": "disk",
    "TIMER": "timer",
    "HRTIMER": "timer",
}
#: kind of object -> parts of the names of its interrupts
_HARD = {
    "network": ("net", "eth", "eno", "enp", "wlan", "mlx", "-input", "-output"),
    "disk": ("nvme", "ahci", "scsi", "req", "blk"),
    "timer": ("timer",),
}
#: instead of a number: the first argument of the probed function
_BY_ARGUMENT = -2
#: bits of a time in a key of thread and time: threads have at most 22
_KEY_BITS = 40


@dataclass(frozen=True)
class Mark:
    """An abstract event that a program reports, or that reaching a function means."""

    kind: Kind
    #: kind and name of the object
    of: str
    name: str
    #: None: pairs with the last open one of the thread
    request: int | None = None
    #: the number is the first argument of the function
    by_argument: bool = False


def parse_mark(text: str) -> Mark | None:
    """Return the mark that a text describes, or None."""
    found = MARK.fullmatch(text)
    if found is None:
        return None
    kind, of, number, name = found.groups()
    if number == "arg1":
        return Mark(_KINDS[kind], of, name, by_argument=True)
    return Mark(_KINDS[kind], of, name, None if number is None else int(number))


class Conversion:
    """Rows of the raw table, CPU by CPU, to abstract events."""

    def __init__(
        self,
        read: Read,
        window: tuple[int, int],
        probes: Sequence[Sequence[Mark]],
        tasks: Mapping[str, Sequence[Any]],
        calls: Mapping[int, str],
    ) -> None:
        self._calls = calls
        self._connection = read.connection
        self.objects = ObjectTable()
        self._tasks = tasks
        self._nesting = Nesting(NONE)
        self._running = Filled(0)
        self._inner = NONE
        self._cpu = NONE
        #: thread after the last row, its time and its number
        self._row_before = (NONE, 0, 0)
        #: switches that were added
        self.unseen = 0
        #: time of the first event
        self._start, end = window
        self._key_shift = max(0, (end - self._start).bit_length() - _KEY_BITS)
        self._wakes = self._all_wakes()
        names = self._connection.execute("select name from names order by id").fetchall()
        self._names = [str(name) for (name,) in names]
        self._marks = self._marks_of(probes)
        self._pids: dict[int, int] = {}
        #: last name of each thread that has one in the trace
        self._comms: dict[int, str] = dict(self._connection.execute("select tid, comm from comms").fetchall())
        self._threads = self._all_threads()
        self._reused = self._all_lives()

    def _marks_of(self, probes: Sequence[Sequence[Mark]]) -> dict[int, tuple[Mark, ...]]:
        """Return the meaning of names: of probes (`p0`) and of marks that a program wrote."""
        found: dict[int, tuple[Mark, ...]] = {}
        for at, name in enumerate(self._names):
            if name[:1] == "p" and name[1:].isdigit() and int(name[1:]) < len(probes):
                found[at] = tuple(probes[int(name[1:])])
            elif (mark := parse_mark(name)) is not None:
                found[at] = (mark,)
        return found

    def _all_threads(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the sorted tids of the trace, and the objects of their first lives."""
        comms = self._comms
        others = self._connection.execute(
            "select distinct a, name from raw where code in (1, 4) union select distinct a, -1 from raw where code in (2, 3)"
        ).fetchall()
        for tid, name in others:
            comms[int(tid)] = comms.get(int(tid)) or (self._names[name] if name >= 0 else "")
        tids = sorted(tid for tid in comms if tid)
        return np.array(tids, np.int64), np.array(
            [self._thread(tid, comms[tid], 0) for tid in tids], np.int64
        )

    def _thread(self, tid: int, name: str, life: int) -> int:
        told = self._tasks.get(str(tid)) if life == 0 else None
        key = ("thread", tid, life)
        if told is None:
            return self.objects.number(key, "thread", name, pid=0, tid=tid)
        pid, process, own, kernel = told
        # The recorder read the names before the traced command was executed.
        own, process = name or own, self._comms.get(int(pid)) or process
        parent = self._object("process", "kernel" if kernel else str(process), pid=0 if kernel else int(pid))
        return self.objects.number(key, "thread", str(own), parent=parent, pid=int(pid), tid=tid)

    def _object(self, kind: str, name: str, parent: int = NONE, pid: int = 0) -> int:
        return self.objects.number((kind, name, parent, pid), kind, name, parent=parent, pid=pid, tid=0)

    def _cpu_object(self, number: int) -> int:
        return self._object("cpu", f"cpu{number}")

    def _all_lives(self) -> dict[int, list[tuple[int, int]]]:
        """Return, for tids that are used again, the times of their later births with the objects."""
        rows = self._connection.execute(
            "with forks as (select a as tid, time_ns, name from raw where code = 4), seen as (select tid, min(time_ns) as first"
            " from (select tid, time_ns from raw union all select a, time_ns from raw where code in (1, 2, 3)) group by tid)"
            " select tid, time_ns, name from forks join seen using (tid) where time_ns > first order by time_ns"
        ).fetchall()
        lives: dict[int, list[tuple[int, int]]] = {}
        for tid, time_ns, name in rows:
            births = lives.setdefault(int(tid), [])
            births.append((int(time_ns), self._thread(int(tid), self._names[name], len(births) + 1)))
        return lives

    def write(self, path: Path) -> None:
        """Write the events, unsorted."""
        rows = self._connection.sql(
            "select time_ns, cpu, tid, code, a, b, name, n from raw order by cpu, time_ns, n"
        ).to_arrow_reader(_BATCH)
        schema = EVENTS.append(pa.field("n", pa.int64()))
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for batch in rows:
                table = self._convert(columns_of(batch), schema)
                if table.num_rows:
                    writer.write_table(table)

    def _actors(self, tids: Numbers, cpus: Numbers, times: Numbers) -> Numbers:
        """Return the thread objects of tids; tid 0 is the idle thread of the CPU."""
        known, objects = self._threads
        found = np.full(len(tids), NONE, np.int64)
        some = tids > 0
        found[some] = objects[np.searchsorted(known, tids[some])]
        for cpu in np.unique(cpus[~some]):
            found[~some & (cpus == cpu)] = self._object("idle", f"idle/{cpu}", self._cpu_object(cpu))
        for tid, births in self._reused.items():
            for born_ns, thread in births:
                found[(tids == tid) & (times >= born_ns)] = thread
        return found

    def _convert(self, raw: Columns, schema: pa.Schema) -> pa.Table:
        code, cpu, time, a, b, name = (raw[key] for key in ("code", "cpu", "time_ns", "a", "b", "name"))
        first = np.diff(cpu, prepend=self._cpu) != 0
        self._cpu = int(cpu[-1])
        # A thread that perf cannot number any more is the one to which the CPU was given.
        after = np.where(code == CODES["sched_switch"], a, raw["tid"])
        raw["tid"] = np.where(raw["tid"] < 0, self._running(after, after >= 0, first), raw["tid"])
        actor = self._actors(raw["tid"], cpu, time)
        out = _Rows(raw["n"], time, cpu)
        self._add_unseen(out, raw, first, actor)
        begins, ends = np.isin(code, (5, 7, 9)), np.isin(code, (6, 8, 10))
        interrupts = self._interrupts(code, name, begins)
        inner = self._nesting(begins, ends, code == CODES["sched_switch"], interrupts, first)
        out.add(begins, Kind.INTERRUPT, actor=actor, object=interrupts)
        out.add(ends, Kind.INTERRUPT_END, actor=actor, object=self._ended(ends, inner))
        other = self._actors(np.where(np.isin(code, (1, 2, 3, 4)), a, 0), cpu, time)
        cause = np.where(inner != NONE, inner, actor)
        out.add(np.isin(code, (2, 3)), Kind.WAKE, actor=other, peer=cause)
        out.add(code == CODES["sched_process_fork"], Kind.WAKE, actor=other, peer=actor, value=1)
        self._switches(out, code, cpu, actor, other, b)
        calls = np.isin(code, (11, 12))
        objects = self._by_value(
            a, calls, lambda nr: self._object("system-call", self._calls.get(nr, str(nr)))
        )
        out.add(code == 11, Kind.ACCEPT, actor=actor, object=objects)
        out.add(code == 12, Kind.FINISH, actor=actor, object=objects)
        disks = self._by_value(
            name, np.isin(code, (13, 14)), lambda at: self._object("disk", self._names[at])
        )
        out.add(code == 13, Kind.REQUEST, actor=actor, object=disks, request=a, value=b)
        out.add(code == 13, Kind.ACCEPT, order=1, actor=actor, object=disks, request=a, value=b)
        out.add(code == 14, Kind.FINISH, object=disks, request=a)
        if np.any(code == 15) or np.any(code == 16):
            lock = self._object("lock", KERNEL_LOCKS)
            out.add(code == 15, Kind.REQUEST, actor=actor, object=lock, request=a, value=b)
            out.add(code == 16, Kind.ACCEPT, actor=actor, object=lock, request=a)
        self._add_marks(out, np.isin(code, (17, PROBE)), name, actor, a)
        return out.table(schema)

    def _add_unseen(self, out: _Rows, raw: Columns, first: Mask, actor: Numbers) -> None:
        """Add missing switches: a thread acts on a CPU that the last switch gave to another one.

        Some kernels do not report the switches from the idle thread. The thread then runs from its wake-up
        on, or from the last event on the CPU, if that is later.
        """
        tid, time, n = raw["tid"], raw["time_ns"], raw["n"]
        after = np.where(raw["code"] == CODES["sched_switch"], raw["a"], tid)
        before_tid, before_time, before_n = (
            np.concatenate(([last], values[:-1]))
            for last, values in zip(self._row_before, (after, time, n), strict=True)
        )
        self._row_before = (int(after[-1]), int(time[-1]), int(n[-1]))
        unseen = ~first & (tid != before_tid)
        self.unseen += int(np.count_nonzero(unseen))
        if not np.any(unseen):
            return
        keys, wake_times, wake_n = self._wakes
        places = np.searchsorted(keys, self._wake_key(tid[unseen], time[unseen]), side="right") - 1
        woken = places >= 0
        woken &= keys[np.maximum(places, 0)] >= self._wake_key(tid[unseen], np.full(len(places), self._start))
        begin, begin_n = before_time[unseen], before_n[unseen]
        later = woken & (wake_times[np.maximum(places, 0)] >= begin)
        begin = np.where(later, wake_times[np.maximum(places, 0)], begin)
        begin_n = np.where(later, np.maximum(wake_n[np.maximum(places, 0)], begin_n), begin_n)
        cpus = raw["cpu"][unseen]
        objects = self._by_value(cpus, np.ones(len(cpus), bool), self._cpu_object)
        leaving = self._actors(before_tid[unseen], cpus, begin)
        for kind, order, thread in ((Kind.PREEMPT, 2, leaving), (Kind.RESUME, 1, actor[unseen])):
            out.add_at(
                kind, _Rows.ORDERS - order, n=begin_n, time_ns=begin, cpu=cpus, actor=thread, object=objects
            )

    def _wake_key(self, tids: Numbers, times: Numbers) -> Numbers:
        elapsed = np.minimum((times - self._start) >> self._key_shift, (1 << _KEY_BITS) - 1)
        keys: Numbers = (tids << _KEY_BITS) + elapsed
        return keys

    def _all_wakes(self) -> tuple[Numbers, Numbers, Numbers]:
        """Return keys, times and rows of all wake-ups, by thread and time."""
        rows = self._connection.execute(
            "select a, time_ns, n from raw where code in (2, 3) order by a, time_ns, n"
        ).fetchnumpy()
        tids, times, n = (np.asarray(rows[name], np.int64) for name in ("a", "time_ns", "n"))
        keys = self._wake_key(tids, times)
        if not len(keys):
            nothing = np.array([np.iinfo(np.int64).max])
            return nothing, nothing, nothing
        return keys, times, n

    def _by_value(self, values: Numbers, rows: Mask, make: Any) -> Numbers:
        """Return an object for each value of some rows."""
        found = np.full(len(values), NONE, np.int64)
        distinct, places = np.unique(values[rows], return_inverse=True)
        found[rows] = (
            np.array([make(int(value)) for value in distinct], np.int64)[places] if len(distinct) else NONE
        )
        return found

    def _interrupts(self, code: Numbers, name: Numbers, begins: Mask) -> Numbers:
        def make(key: int) -> int:
            what, at = divmod(key, 1 << 40)
            if what == 9:
                return self._object("timer", "local timer")
            text = self._names[at]
            if what == 7:
                return self._object(_SOFT.get(text, "interrupt"), f"softirq {text}")
            kinds = (kind for kind, parts in _HARD.items() if any(part in text for part in parts))
            kind = next(kinds, "interrupt")
            return self._object(kind, f"irq {text}")

        return self._by_value(code * (1 << 40) + name, begins, make)

    def _ended(self, ends: Mask, inner: Numbers) -> Numbers:
        """Return the interrupt that ended: the innermost one before the row."""
        before = np.concatenate(([self._inner], inner[:-1]))
        self._inner = int(inner[-1])
        return np.where(ends, before, NONE)

    def _switches(
        self, out: _Rows, code: Numbers, cpu: Numbers, actor: Numbers, other: Numbers, state: Numbers
    ) -> None:
        switch = code == CODES["sched_switch"]
        objects = self._by_value(cpu, switch, self._cpu_object)
        for value, (kind, sleep) in _LEAVES.items():
            out.add(switch & (state == value), kind, actor=actor, object=objects, value=int(sleep))
        out.add(switch, Kind.RESUME, order=1, actor=other, object=objects)

    def _add_marks(self, out: _Rows, rows: Mask, name: Numbers, actor: Numbers, argument: Numbers) -> None:
        distinct, places = np.unique(name[rows], return_inverse=True)
        marks = [self._marks.get(int(at), ()) for at in distinct]
        for order in range(max(map(len, marks), default=0)):
            # One row of kind, object and request for each name: programs may write a number into each mark.
            meant = np.array([self._meaning(one, order) for one in marks], np.int64)
            kind, target, request = (np.full(len(name), NONE, np.int64) for _ in range(3))
            for column, values in zip((kind, target, request), meant.T, strict=True):
                column[rows] = values[places]
            request = np.where(request == _BY_ARGUMENT, argument, request)
            for one in np.unique(meant[:, 0]):
                if one != NONE:
                    out.add(
                        rows & (kind == one),
                        Kind(one),
                        order=order,
                        actor=actor,
                        object=target,
                        request=request,
                    )

    def _meaning(self, marks: tuple[Mark, ...], order: int) -> tuple[int, int, int]:
        if order >= len(marks):
            return NONE, NONE, NONE
        mark = marks[order]
        request = NONE if mark.request is None else mark.request
        if mark.by_argument:
            request = _BY_ARGUMENT
        return mark.kind, self._object(mark.of, mark.name), request


#: columns of an event that are not given
_NOTHING = {"actor": NONE, "object": NONE, "peer": NONE, "request": 0, "value": 0}


class _Rows:
    """Columns of abstract events, collected in pieces."""

    #: places for events that come from one row, in order
    ORDERS = 8

    def __init__(self, n: Numbers, time: Numbers, cpu: Numbers) -> None:
        self._n, self._time, self._cpu = n, time, cpu
        self._pieces: list[dict[str, NDArray[Any]]] = []

    def add(self, rows: Mask, kind: Kind, order: int = 0, **columns: NDArray[Any] | int) -> None:
        """Add an event for each of some rows; columns that are not given say nothing."""
        if np.any(rows):
            given = {
                name: values if isinstance(values, int) else values[rows] for name, values in columns.items()
            }
            self.add_at(kind, order, n=self._n[rows], time_ns=self._time[rows], cpu=self._cpu[rows], **given)

    def add_at(self, kind: Kind, order: int, *, n: Numbers, **columns: NDArray[Any] | int) -> None:
        """Add events that are in no row, after the rows `n`; see `add` for the columns."""
        piece = {"n": n * self.ORDERS + order, "kind": np.full(len(n), kind, np.int64)}
        for name, value in {**_NOTHING, **columns}.items():
            piece[name] = np.full(len(n), value, np.int64) if isinstance(value, int) else value
        self._pieces.append(piece)

    def table(self, schema: pa.Schema) -> pa.Table:
        """Return all of them."""
        if not self._pieces:
            return schema.empty_table()
        columns = {name: np.concatenate([piece[name] for piece in self._pieces]) for name in schema.names}
        return pa.table(
            {one.name: pa.array(columns[one.name]).cast(one.type) for one in schema}, schema=schema
        )
