"""A small server with two threads, locks and disks, and its events by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers.synthetic_traces import write_trace
from regatta.models.kernel_traces.jobs import Jobs
from regatta.models.kernel_traces.measures import Measures, Times, measure
from regatta.models.kernel_traces.model import KERNEL_LOCKS, NONE, Facts, Kind, Trace
from regatta.models.kernel_traces.timeline import State, Timeline

OBJECTS: list[dict[str, Any]] = [
    {"kind": "cpu", "name": "cpu0"},
    {"kind": "cpu", "name": "cpu1"},
    {"kind": "idle", "name": "idle/0", "parent": 0},
    {"kind": "idle", "name": "idle/1", "parent": 1},
    {"kind": "process", "name": "server", "pid": 10},
    {"kind": "thread", "name": "one", "parent": 4, "pid": 10, "tid": 10},
    {"kind": "thread", "name": "two", "parent": 4, "pid": 10, "tid": 11},
    {"kind": "thread", "name": "alone", "tid": 12},
    {"kind": "process", "name": "kernel"},
    {"kind": "thread", "name": "kworker", "parent": 8, "tid": 3},
    {"kind": "system-call", "name": "read"},
    {"kind": "network", "name": "irq eth0"},
    {"kind": "timer", "name": "local timer"},
    {"kind": "interrupt", "name": "irq other"},
    {"kind": "lock", "name": KERNEL_LOCKS},
    {"kind": "lock", "name": "mutex"},
    {"kind": "disk", "name": "sda"},
    {"kind": "transaction", "name": "order"},
    {"kind": "phase", "name": "parse"},
    {"kind": "phase", "name": "send"},
    {"kind": "process", "name": "database", "pid": 20},
    {"kind": "thread", "name": "query", "parent": 20, "pid": 20, "tid": 20},
    {"kind": "system-call", "name": "write"},
    {"kind": "disk", "name": "sdb"},
]
(
    CPU_0, CPU_1, IDLE_0, IDLE_1, SERVER, ONE, TWO, ALONE, KERNEL, KWORKER, READ, NET, TIMER, OTHER, KERNEL_LOCK, MUTEX, DISK, ORDER,
    PARSE, SEND, DATABASE, QUERY, WRITE, DISK_B,
) = range(len(OBJECTS))  # fmt: skip
#: offset of the times: no time is 0, as in recorded traces
T0 = 10**12
Events = list[dict[str, Any]]


def event(time: int, kind: Kind, actor: int = NONE, target: int = NONE, **others: int) -> dict[str, Any]:
    return {"time_ns": T0 + time, "kind": kind, "actor": actor, "object": target, **others}


def switch(time: int, before: int, after: int, sleep: int | None = None, cpu: int = 0) -> Events:
    """The two events of a switch; without `sleep`, the thread before still asks for the CPU."""
    leaves: dict[str, Any] = {"kind": Kind.PREEMPT} if sleep is None else {"kind": Kind.SLEEP, "value": sleep}
    shared = {"time_ns": T0 + time, "cpu": cpu, "object": CPU_0 + cpu}
    return [{**shared, "actor": before, **leaves}, {**shared, "actor": after, "kind": Kind.RESUME}]


def job(
    kind: Kind, time: int, actor: int, target: int = ORDER, request: int = 1, **others: int
) -> dict[str, Any]:
    return event(time, kind, actor, target, request=request, **others)


def wake(time: int, actor: int, peer: int = NONE, **others: int) -> dict[str, Any]:
    return event(time, Kind.WAKE, actor, peer=peer, **others)


def call(begin: int, end: int, actor: int, target: int = READ) -> Events:
    return [event(begin, Kind.ACCEPT, actor, target), event(end, Kind.FINISH, actor, target)]


def traced(
    folder: Path, events: Sequence[Mapping[str, Any]], end: int, begin: int = 0, cpus: int = 2, **facts: Any
) -> Trace:
    return write_trace(folder / "trace", events, OBJECTS, Facts(T0 + begin, T0 + end, cpus, **facts))


def measured(folder: Path, events: Sequence[Mapping[str, Any]], end: int, **facts: Any) -> Measures:
    return measure(traced(folder, events, end, **facts))


def jobs(folder: Path, events: Sequence[Mapping[str, Any]], end: int = 1000) -> Jobs:
    return Timeline(traced(folder, events, end), folder).jobs


def segments(trace: Trace, folder: Path) -> dict[int, list[tuple[int, int, State, int]]]:
    """Per thread: begin, end, state and object of its segments that last, in order of time; equal neighbours are joined."""
    found: dict[int, list[tuple[int, int, State, int]]] = {}
    for batch in Timeline(trace, folder).batches():
        for actor, begin, end, state, target in zip(
            batch.actor, batch.begin_ns, batch.end_ns, batch.state, batch.object, strict=True
        ):
            if end > begin:
                row = (int(begin) - T0, int(end) - T0, State(state), int(target))
                found.setdefault(int(actor), []).append(row)
    joined: dict[int, list[tuple[int, int, State, int]]] = {}
    for actor, rows in found.items():
        one = joined.setdefault(actor, [])
        for row in sorted(rows):
            if one and one[-1][1] == row[0] and one[-1][2:] == row[2:]:
                row = (one.pop()[0], *row[1:])
            one.append(row)
    return joined


def times(found: Times) -> dict[str, Any]:
    """Those that are not zero."""

    def some(parts: Mapping[str, float]) -> dict[str, float]:
        return {name: value for name, value in parts.items() if value}

    named = {"user": found.user, "kernel": found.kernel, "spin": found.spin, "ready": found.ready,
             "interrupts": some(found.interrupts), "asleep": some(found.asleep)}  # fmt: skip
    return {name: value for name, value in named.items() if value}
