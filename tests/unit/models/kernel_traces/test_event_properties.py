"""Random schedules: the timeline agrees with a plain simulation, and the measures obey what holds for every trace."""

from __future__ import annotations

import itertools
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.synthetic_traces import write_trace
from regatta.models.kernel_traces import conversion
from regatta.models.kernel_traces.importing import import_text
from regatta.models.kernel_traces.measures import Measures, measure
from regatta.models.kernel_traces.model import KERNEL_LOCKS, NONE, Facts, Kind, Sleep, Trace
from regatta.models.kernel_traces.timeline import RUNNING, State, Timeline

CPUS, THREADS = 2, 4
OBJECTS: list[dict[str, Any]] = [
    *({"kind": "cpu", "name": f"cpu{number}"} for number in range(CPUS)),
    *({"kind": "idle", "name": f"idle/{number}", "parent": number} for number in range(CPUS)),
    {"kind": "process", "name": "server", "pid": 1},
    {"kind": "process", "name": "kernel"},
    *({"kind": "thread", "name": f"thread{number}", "parent": 4, "tid": 10 + number} for number in range(THREADS - 1)),
    {"kind": "thread", "name": "kworker", "parent": 5, "tid": 9},
    {"kind": "system-call", "name": "0"},
    {"kind": "network", "name": "softirq NET_RX"},
    {"kind": "timer", "name": "local timer"},
    {"kind": "lock", "name": KERNEL_LOCKS},
    {"kind": "lock", "name": "mutex"},
    {"kind": "phase", "name": "parse"},
    {"kind": "phase", "name": "send"},
    {"kind": "transaction", "name": "order"},
]  # fmt: skip
IDLE, FIRST = CPUS, 2 * CPUS + 2
KWORKER = FIRST + THREADS - 1
CALL, NET, TIMER, KERNEL_LOCK, MUTEX, PARSE, SEND, ORDER = range(FIRST + THREADS, len(OBJECTS))
T0 = 10**12
Row = dict[str, Any]
#: begin, end, state, object, CPU
Piece = tuple[int, int, State, int, int]


@dataclass
class Machine:
    """CPUs that run threads: writes the events, and keeps what each thread does by a plain state machine."""

    now: int = T0
    rows: list[Row] = field(default_factory=list)
    #: per CPU: the thread on it; per thread: running, ready, asleep or ended
    on: list[int] = field(default_factory=lambda: [IDLE + number for number in range(CPUS)])
    status: dict[int, str] = field(
        default_factory=lambda: dict.fromkeys(range(FIRST, FIRST + THREADS), "ready")
    )
    #: per thread
    calls: dict[int, bool] = field(default_factory=lambda: defaultdict(bool))
    interrupts: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    contended: dict[int, int | None] = field(default_factory=lambda: defaultdict(lambda: None))
    waits: dict[int, bool] = field(default_factory=lambda: defaultdict(bool))
    phases: dict[int, int] = field(default_factory=lambda: defaultdict(lambda: NONE))
    jobs: dict[int, int] = field(default_factory=dict)
    requests: int = 0
    pieces: dict[int, list[Piece]] = field(default_factory=lambda: defaultdict(list))
    since: dict[int, int] = field(default_factory=lambda: defaultdict(lambda: T0))
    place: dict[int, int] = field(default_factory=lambda: defaultdict(lambda: NONE))

    def row(self, kind: Kind, actor: int, target: int = NONE, **others: int) -> None:
        self.rows.append({"time_ns": self.now, "kind": kind, "actor": actor, "object": target, **others})

    def close(self, actor: int, cause: int = NONE) -> None:
        """End the piece of a thread that began at `since`."""
        state, target = self.state(actor)
        if state == State.ASLEEP and target == NONE:
            target = cause
        if self.now > self.since[actor]:
            cpu = self.place[actor] if state in (*RUNNING, State.IDLE) else NONE
            self.pieces[actor].append((self.since[actor], self.now, state, target, cpu))
        self.since[actor] = self.now

    def state(self, actor: int) -> tuple[State, int]:
        if actor < FIRST:
            if actor not in self.on:
                return State.READY, NONE
        elif self.status[actor] != "running":
            lock = KERNEL_LOCK if self.contended[actor] is not None else MUTEX if self.waits[actor] else NONE
            asleep = self.status[actor] == "asleep"
            return {"ready": State.READY, "asleep": State.ASLEEP, "ended": State.ENDED}[self.status[actor]], (
                lock if asleep else NONE
            )
        if self.interrupts[actor]:
            return State.INTERRUPT, self.interrupts[actor][-1]
        if actor < FIRST:
            return State.IDLE, NONE
        if self.contended[actor] == 1:
            return State.SPIN, KERNEL_LOCK
        if self.calls[actor]:
            return State.KERNEL, CALL
        return (State.KERNEL, NONE) if actor == KWORKER else (State.USER, NONE)

    def switch(self, cpu: int, to: int, how: str) -> None:
        leaving = self.on[cpu]
        if self.interrupts[leaving] or leaving == to:
            return
        self.close(leaving)
        self.close(to)
        shared = {"cpu": cpu, "target": cpu}
        if leaving < FIRST or how == "ready":
            self.row(Kind.PREEMPT, leaving, **shared)
        else:
            sleep = {"asleep": Sleep.INTERRUPTIBLE, "blocked": Sleep.UNINTERRUPTIBLE, "ended": Sleep.ENDED}[
                how
            ]
            self.row(Kind.SLEEP, leaving, value=sleep, **shared)
        if leaving >= FIRST:
            self.status[leaving] = "asleep" if how == "blocked" else how
        self.row(Kind.RESUME, to, **shared)
        self.on[cpu], self.place[to] = to, cpu
        if to >= FIRST:
            self.status[to] = "running"

    def step(self, word: str, cpu: int, number: int) -> None:
        """Let something happen on a CPU, if it can."""
        actor = self.on[cpu]
        running = actor >= FIRST and not self.interrupts[actor]
        ready = [one for one, status in self.status.items() if status == "ready"]
        if word == "run" and ready:
            self.switch(cpu, ready[number % len(ready)], "ready")
        elif word in ("asleep", "blocked", "ended") and running:
            self.switch(cpu, ready[number % len(ready)] if ready else IDLE + cpu, word)
        elif word == "idle" and running:
            self.switch(cpu, IDLE + cpu, "ready")
        elif word == "wake":
            self.wake(cpu, FIRST + number % THREADS)
        elif word == "interrupt" and len(self.interrupts[actor]) < 3:
            self.close(actor)
            source = (NET, TIMER)[number % 2]
            self.row(Kind.INTERRUPT, actor, source, cpu=cpu)
            self.interrupts[actor].append(source)
        elif word == "return" and self.interrupts[actor]:
            self.close(actor)
            self.row(Kind.INTERRUPT_END, actor, self.interrupts[actor].pop(), cpu=cpu)
        elif running:
            self.close(actor)
            self.work(word, cpu, actor)

    def wake(self, cpu: int, thread: int) -> None:
        actor = self.on[cpu]
        cause = self.interrupts[actor][-1] if self.interrupts[actor] else actor
        if thread == actor or self.status[thread] == "ended":
            return
        self.row(Kind.WAKE, thread, peer=cause, cpu=cpu)
        if self.status[thread] == "asleep":
            self.close(thread, cause)
            self.status[thread] = "ready"

    def work(self, word: str, cpu: int, actor: int) -> None:
        if word == "call":
            self.row(Kind.FINISH if self.calls[actor] else Kind.ACCEPT, actor, CALL, cpu=cpu)
            self.calls[actor] = not self.calls[actor]
        elif word in ("spin", "contend"):
            open_one = self.contended[actor] is not None
            self.row(
                Kind.ACCEPT if open_one else Kind.REQUEST,
                actor,
                KERNEL_LOCK,
                cpu=cpu,
                request=actor,
                value=0 if open_one else int(word == "spin"),
            )
            self.contended[actor] = None if open_one else int(word == "spin")
        elif word == "mutex":
            self.row(
                Kind.ACCEPT if self.waits[actor] else Kind.REQUEST, actor, MUTEX, cpu=cpu, request=10 + actor
            )
            self.waits[actor] = not self.waits[actor]
        elif word in ("parse", "send"):
            self.phases[actor] = PARSE if word == "parse" else SEND
            self.row(Kind.ACCEPT, actor, self.phases[actor], cpu=cpu)
        elif word == "finish" and self.phases[actor] != NONE:
            self.row(Kind.FINISH, actor, self.phases[actor], cpu=cpu)
            self.phases[actor] = NONE
        elif word == "job":
            begun = actor in self.jobs
            if not begun:
                self.requests += 1
                self.jobs[actor] = 1000 + self.requests
            self.row(Kind.FINISH if begun else Kind.ACCEPT, actor, ORDER, cpu=cpu, request=self.jobs[actor])
            if begun:
                del self.jobs[actor]

    def end(self) -> int:
        """End the window."""
        for actor in (*range(IDLE, IDLE + CPUS), *range(FIRST, FIRST + THREADS)):
            self.close(actor)
        return self.now


WORDS = (
    "run", "run", "asleep", "blocked", "ended", "idle", "wake", "wake", "interrupt", "return", "call", "spin", "contend", "mutex", "parse",
    "send", "finish", "job",
)  # fmt: skip
steps = st.lists(
    st.tuples(st.sampled_from(WORDS), st.integers(0, CPUS - 1), st.integers(0, 7), st.integers(0, 50)),
    min_size=25,
    max_size=80,
)


def simulated(found: list[tuple[str, int, int, int]]) -> Machine:
    machine = Machine()
    # All threads and idle threads act once, so that the trace says from the first moment on what each does.
    for cpu in range(CPUS):
        for thread in range(FIRST, FIRST + THREADS):
            machine.switch(cpu, thread, "asleep" if machine.on[cpu] >= FIRST else "ready")
            machine.switch(cpu, IDLE + cpu, "ready")
    for word, cpu, number, wait in found:
        machine.now += wait
        machine.step(word, cpu, number)
    machine.now += 1
    return machine


def written(folder: str, machine: Machine) -> Trace:
    end = machine.end()
    rows = [{**row, "object": row.pop("target", row["object"])} for row in map(dict, machine.rows)]
    return write_trace(Path(folder) / "trace", rows, OBJECTS, Facts(T0, end, CPUS))


def pieces(trace: Trace, folder: str, batch: int) -> dict[int, list[Piece]]:
    """Per thread its segments that last, by time; those that differ in nothing are joined."""
    found: dict[int, list[Piece]] = defaultdict(list)
    for one in Timeline(trace, Path(folder), batch).batches():
        for actor, begin, end, state, target, cpu in zip(
            one.actor, one.begin_ns, one.end_ns, one.state, one.object, one.cpu, strict=True
        ):
            assert end >= begin
            on = State(state) in (*RUNNING, State.IDLE)
            if end > begin:
                found[int(actor)].append(
                    (int(begin), int(end), State(state), int(target), int(cpu) if on else NONE)
                )
    return {actor: joined(rows) for actor, rows in found.items()}


def joined(rows: list[Piece]) -> list[Piece]:
    found: list[Piece] = []
    for row in sorted(rows):
        if found and found[-1][1] == row[0] and found[-1][2:] == row[2:]:
            row = (found.pop()[0], *row[1:])
        found.append(row)
    return found


@given(steps, st.integers(1, 7))
@settings(max_examples=15)
def test_the_timeline_agrees_with_a_plain_simulation(
    found: list[tuple[str, int, int, int]], batch: int
) -> None:
    machine = simulated(found)
    with tempfile.TemporaryDirectory() as folder:
        trace = written(folder, machine)
        expected = {actor: joined(rows) for actor, rows in machine.pieces.items() if rows}
        assert pieces(trace, folder, batch) == expected
        assert pieces(trace, folder, 1 << 20) == expected


@given(steps)
@settings(max_examples=15)
def test_segments_tile_the_window_and_cpus_are_busy_or_idle(found: list[tuple[str, int, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace = written(folder, simulated(found))
        window = trace.facts.end_ns - trace.facts.begin_ns
        by_actor = pieces(trace, folder, 1 << 20)
        on_cpu = [0] * CPUS
        idle = [0] * CPUS
        for rows in by_actor.values():
            assert rows[0][0] == trace.facts.begin_ns
            assert rows[-1][1] == trace.facts.end_ns
            assert all(one[1] == other[0] for one, other in itertools.pairwise(rows))
            for begin, end, state, _, cpu in rows:
                if cpu >= 0:
                    (idle if state == State.IDLE else on_cpu)[cpu] += end - begin
        measures = measure(trace)
    assert [busy + free for busy, free in zip(on_cpu, idle, strict=True)] == [window] * CPUS
    assert [measures.cpus.get(f"cpu{cpu}", 0) for cpu in range(CPUS)] == on_cpu
    everyone = list(measures.processes.values())
    assert sum(one.elapsed for one in everyone) <= THREADS * window
    assert all(
        value >= 0
        for one in everyone
        for value in (
            one.user,
            one.kernel,
            one.spin,
            one.ready,
            *one.interrupts.values(),
            *one.asleep.values(),
        )
    )
    assert all(one.waited_ns >= 0 and one.used_ns >= 0 for one in measures.usages.values())
    assert (measures.responses >= 0).all()
    assert measures.transactions == len(measures.responses)


def comparable(measures: Measures) -> dict[str, Any]:
    return {
        **{name: value for name, value in vars(measures).items() if name != "responses"},
        "responses": measures.responses.tolist(),
    }


@given(steps)
@settings(max_examples=4)
def test_measures_do_not_depend_on_batches(found: list[tuple[str, int, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace = written(folder, simulated(found))
        expected = comparable(measure(trace))
        for batch in range(1, 8):
            assert comparable(measure(trace, batch)) == expected


@given(steps)
@settings(max_examples=10)
def test_waits_of_the_simulation_are_those_of_the_measures(found: list[tuple[str, int, int, int]]) -> None:
    machine = simulated(found)
    with tempfile.TemporaryDirectory() as folder:
        measures = measure(written(folder, machine))
    begun: dict[tuple[int, int], int] = {}
    expected: dict[int, int] = defaultdict(int)
    for row in machine.rows:
        key = (row["object"], row["actor"])
        if row["kind"] == Kind.REQUEST:
            begun[key] = row["time_ns"]
        elif row["kind"] == Kind.ACCEPT and key in begun:
            expected[row["object"]] += row["time_ns"] - begun.pop(key)
    for lock, name in ((KERNEL_LOCK, KERNEL_LOCKS), (MUTEX, "mutex")):
        usage = measures.usages.get(name)
        assert (usage.waited_ns if usage else 0) == expected[lock]


# --- the same through the text of a kernel ---


def lines(machine: Machine) -> Iterator[str]:
    """The events as ftrace writes them."""
    on = [0] * CPUS
    names = {0: "<idle>"} | {
        OBJECTS[one]["tid"]: OBJECTS[one]["name"] for one in range(FIRST, FIRST + THREADS)
    }

    def tid(actor: int) -> int:
        return OBJECTS[actor]["tid"] if actor >= FIRST else 0

    leaving: Row = {}
    for row in machine.rows:
        kind, cpu, target = row["kind"], row["cpu"], row["object"]
        if kind in (Kind.PREEMPT, Kind.SLEEP):
            leaving = row
            continue
        if kind == Kind.RESUME:
            state = "R" if leaving["kind"] == Kind.PREEMPT else "SDX"[leaving["value"]]
            before, after = tid(leaving["actor"]), tid(row["actor"])
            rest = (
                f"sched_switch: prev_comm={names[before]} prev_pid={before} prev_prio=1 prev_state={state} ==>"
                f" next_comm={names[after]} next_pid={after} next_prio=1"
            )
        elif kind == Kind.WAKE:
            rest = (
                f"sched_waking: comm={names[tid(row['actor'])]} pid={tid(row['actor'])} prio=1 target_cpu=000"
            )
        elif target in (NET, TIMER):
            event = {NET: "softirq", TIMER: "local_timer"}[target]
            rest = f"{event}_{'entry' if kind == Kind.INTERRUPT else 'exit'}: vec=3 [action=NET_RX]"
        elif target == CALL:
            rest = "sys_enter: NR 0 (0, 0)" if kind == Kind.ACCEPT else "sys_exit: NR 0 = 0"
        elif target == KERNEL_LOCK:
            flags = "(flags=SPIN)" if row["value"] else "(flags=)"
            rest = (
                f"contention_begin: 0xff {flags}" if kind == Kind.REQUEST else "contention_end: 0xff (ret=0)"
            )
        else:
            what = OBJECTS[target]
            mark = f"{kind.name.lower()} {what['kind']} {row.get('request', '')} {what['name']}".replace(
                "  ", " "
            )
            rest = f"tracing_mark_write: regatta: {mark}"
        yield f"{names[on[cpu]]:>16s}-{on[cpu]:<5d} [{cpu:03d}] ..... {row['time_ns'] // 10**9}.{row['time_ns'] % 10**9:09d}: {rest}\n"
        if kind == Kind.RESUME:
            on[cpu] = tid(row["actor"])


@given(steps, st.integers(1, 9))
@settings(max_examples=8)
def test_text_of_a_schedule_gives_its_segments_however_it_is_cut(
    found: list[tuple[str, int, int, int]], batch: int
) -> None:
    machine = simulated(found)
    machine.end()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        path.write_text("".join(lines(machine)), encoding="ascii")
        whole = import_text(path, Path(folder) / "whole")
        with mock.patch.object(conversion, "_BATCH", batch):
            cut = import_text(path, Path(folder) / "cut")
        assert whole.facts == cut.facts
        assert whole.facts.remarks == ()
        assert named(pq.read_table(whole.events).to_pylist(), whole) == named(
            pq.read_table(cut.events).to_pylist(), cut
        )
        found_pieces = by_name(whole, pieces(whole, folder, 1 << 20))
        expected = {
            OBJECTS[one]["name"]: clipped(rows, whole.facts) for one, rows in machine.pieces.items() if rows
        }
        for name, rows in found_pieces.items():
            assert [row[:3] for row in rows] == [row[:3] for row in joined(expected[name])]


def named(rows: list[Row], trace: Trace) -> list[Row]:
    """The rows with names in place of numbers, which depend on the order in which objects were found."""
    objects = trace.read_objects().to_pylist()
    return [
        {
            **row,
            **{
                column: (objects[row[column]]["kind"], objects[row[column]]["name"])
                if row[column] >= 0
                else None
                for column in ("actor", "object", "peer")
            },
        }
        for row in rows
    ]


def by_name(trace: Trace, found: dict[int, list[Piece]]) -> dict[str, list[Piece]]:
    """Threads by name, with user and kernel time alike for the kernel's: a text does not say which threads are of the kernel."""
    names = trace.read_objects().column("name").to_pylist()
    kinds = trace.read_objects().column("kind").to_pylist()
    return {
        names[actor]: rows
        for actor, rows in found.items()
        if kinds[actor] == "thread" and names[actor] != "kworker"
    }


def clipped(rows: list[Piece], facts: Facts) -> list[Piece]:
    return [
        (max(row[0], facts.begin_ns), min(row[1], facts.end_ns), *row[2:])
        for row in rows
        if row[0] < facts.end_ns and row[1] > facts.begin_ns
    ]


@pytest.mark.parametrize("batch", [1, 2, 3, 1 << 20])
def test_a_trace_without_events_has_no_times(batch: int, tmp_path: Path) -> None:
    trace = write_trace(tmp_path, [], OBJECTS, Facts(T0, T0 + 100, CPUS))
    found = measure(trace, batch)
    assert (found.processes, found.cpus, found.transactions) == ({}, {}, 0)
