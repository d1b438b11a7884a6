"""Measures of small traces, against answers computed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from helpers.synthetic_traces import write_trace
from regatta.events.importing import KERNEL_LOCKS, import_text
from regatta.events.jobs import Jobs
from regatta.events.measures import NO_PHASE, Measures, Times, measure, metrics
from regatta.events.model import NONE, Facts, Kind, Sleep, Trace
from regatta.events.timeline import State, Timeline

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


# --- states of threads ---


def test_a_thread_runs_in_user_kernel_interrupts_and_spins(tmp_path: Path) -> None:
    events = [
        *switch(100, IDLE_0, ONE),
        *call(200, 700, ONE),
        event(300, Kind.INTERRUPT, ONE, NET),
        event(330, Kind.INTERRUPT, ONE, TIMER),
        event(340, Kind.INTERRUPT_END, ONE, TIMER),
        event(400, Kind.INTERRUPT_END, ONE, NET),
        event(500, Kind.REQUEST, ONE, KERNEL_LOCK, request=5, value=1),
        event(550, Kind.ACCEPT, ONE, KERNEL_LOCK, request=5),
        *switch(900, ONE, IDLE_0, Sleep.ENDED),
    ]
    trace = traced(tmp_path, events, 1000)
    assert segments(trace, tmp_path) == {
        IDLE_0: [(0, 100, State.IDLE, NONE), (100, 900, State.READY, NONE), (900, 1000, State.IDLE, NONE)],
        ONE: [
            (0, 100, State.READY, NONE),
            (100, 200, State.USER, NONE),
            (200, 300, State.KERNEL, READ),
            (300, 330, State.INTERRUPT, NET),
            (330, 340, State.INTERRUPT, TIMER),
            (340, 400, State.INTERRUPT, NET),
            (400, 500, State.KERNEL, READ),
            (500, 550, State.SPIN, KERNEL_LOCK),
            (550, 700, State.KERNEL, READ),
            (700, 900, State.USER, NONE),
            (900, 1000, State.ENDED, NONE),
        ],
    }
    found = measure(trace)
    assert times(found.processes["server"]) == {
        "user": 300, "kernel": 350, "spin": 50, "ready": 100, "interrupts": {"network": 90, "timer": 10},
    }  # fmt: skip
    assert found.processes["server"].cpu == 700
    assert found.processes["server"].elapsed == 900
    assert found.cpus == {"cpu0": 800}
    assert found.interrupts == {"network": 90, "timer": 10}


def test_interrupts_of_an_idle_cpu_keep_it_busy(tmp_path: Path) -> None:
    events = [
        event(100, Kind.INTERRUPT, IDLE_1, NET, cpu=1),
        event(150, Kind.INTERRUPT_END, IDLE_1, NET, cpu=1),
        *switch(400, IDLE_1, KWORKER, cpu=1),
        *switch(600, KWORKER, IDLE_1, Sleep.INTERRUPTIBLE, cpu=1),
    ]
    found = measured(tmp_path, events, 1000)
    assert found.cpus == {"cpu1": 250}
    assert times(found.processes["kernel"]) == {"ready": 400, "kernel": 200, "asleep": {"unknown": 400}}
    assert set(found.processes) == {"kernel"}
    ((_, busy, unit, parameters),) = (row for row in metrics(found) if row[0] == "event_cpu_busy")
    assert busy == pytest.approx(25)
    assert (unit, parameters) == ("%", {"cpu": "cpu1"})


@pytest.mark.parametrize(
    ("waker", "cause"),
    [
        (NET, "network"), (TIMER, "timer"), (OTHER, "interrupt"), (DISK, "disk"), (TWO, "process"), (SERVER, "process"),
        (IDLE_1, "interrupt"), (NONE, "unknown"), (MUTEX, "lock"),
    ],
)  # fmt: skip
def test_what_wakes_a_thread_is_the_cause_of_its_sleep(waker: int, cause: str, tmp_path: Path) -> None:
    events = [
        *switch(100, ONE, IDLE_0, Sleep.INTERRUPTIBLE),
        wake(400, ONE, waker),
        *switch(450, IDLE_0, ONE),
    ]
    found = measured(tmp_path, events, 500).processes["server"]
    assert times(found) == {"user": 150, "ready": 50, "asleep": {cause: 300}}
    assert (found.wakeups, found.switches) == ({cause: 1}, 1)


def test_a_thread_that_sleeps_for_a_lock_waits_for_it_whoever_wakes_it(tmp_path: Path) -> None:
    events = [
        event(50, Kind.REQUEST, ONE, MUTEX, request=1),
        *switch(100, ONE, IDLE_0, Sleep.INTERRUPTIBLE),
        wake(400, ONE, TWO),
        *switch(450, IDLE_0, ONE),
        event(460, Kind.ACCEPT, ONE, MUTEX, request=1),
        *switch(500, ONE, IDLE_0, Sleep.INTERRUPTIBLE),
        wake(600, ONE, NET),
    ]
    found = measured(tmp_path, events, 700)
    assert times(found.processes["server"]) == {
        "user": 150, "ready": 150, "asleep": {"lock": 300, "network": 100},
    }  # fmt: skip
    usage = found.usages["mutex"]
    assert (usage.uses, usage.waited_ns, usage.contended, usage.incomplete) == (1, 410, 1, 0)


def test_a_kernel_lock_that_does_not_spin_is_a_sleep(tmp_path: Path) -> None:
    events = [
        *call(10, 300, ONE),
        event(50, Kind.REQUEST, ONE, KERNEL_LOCK, request=1, value=0),
        *switch(60, ONE, IDLE_0, Sleep.UNINTERRUPTIBLE),
        wake(200, ONE, TWO),
        *switch(210, IDLE_0, ONE),
        event(220, Kind.ACCEPT, ONE, KERNEL_LOCK, request=1),
    ]
    found = measured(tmp_path, events, 300)
    assert times(found.processes["server"]) == {
        "user": 10, "kernel": 140, "ready": 10, "asleep": {"lock": 140},
    }  # fmt: skip


def test_a_thread_that_is_woken_while_awake_stays_as_it_is(tmp_path: Path) -> None:
    events = [
        *switch(100, IDLE_0, ONE),
        wake(150, ONE, NET),
        *switch(200, ONE, IDLE_0, Sleep.INTERRUPTIBLE),
        wake(300, ONE, NET),
        wake(310, ONE, NET),
        wake(320, ONE, TIMER),
        *switch(400, IDLE_0, ONE),
        *switch(500, ONE, IDLE_0),
        wake(550, ONE, TIMER),
    ]
    found = measured(tmp_path, events, 600).processes["server"]
    assert times(found) == {"user": 200, "ready": 300, "asleep": {"network": 100}}
    assert found.wakeups == {"network": 1}


def test_a_new_thread_has_no_time_before_its_birth(tmp_path: Path) -> None:
    events = [
        *switch(100, IDLE_0, ONE),
        wake(300, TWO, ONE, value=1),
        wake(310, TWO, ONE),
        *switch(400, IDLE_1, TWO, cpu=1),
        *switch(700, TWO, IDLE_1, Sleep.ENDED, cpu=1),
    ]
    trace = traced(tmp_path, events, 1000)
    assert segments(trace, tmp_path)[TWO] == [
        (300, 400, State.READY, NONE),
        (400, 700, State.USER, NONE),
        (700, 1000, State.ENDED, NONE),
    ]


def test_first_events_say_what_was_before(tmp_path: Path) -> None:
    events = [
        *switch(100, ONE, KWORKER, Sleep.INTERRUPTIBLE),
        wake(200, TWO, NET),
        *switch(300, KWORKER, ALONE, Sleep.INTERRUPTIBLE),
    ]
    trace = traced(tmp_path, events, 1000)
    assert segments(trace, tmp_path) == {
        ONE: [(0, 100, State.USER, NONE), (100, 1000, State.ASLEEP, NONE)],
        KWORKER: [
            (0, 100, State.READY, NONE),
            (100, 300, State.KERNEL, NONE),
            (300, 1000, State.ASLEEP, NONE),
        ],
        TWO: [(0, 200, State.ASLEEP, NET), (200, 1000, State.READY, NONE)],
        ALONE: [(0, 300, State.READY, NONE), (300, 1000, State.USER, NONE)],
    }


@pytest.mark.parametrize(
    ("first", "state", "target"),
    [
        (event(100, Kind.INTERRUPT_END, ONE), State.USER, NONE),
        (event(100, Kind.FINISH, ONE, READ), State.KERNEL, READ),
        (event(100, Kind.ACCEPT, ONE, READ), State.USER, NONE),
        (event(100, Kind.INTERRUPT, ONE, NET), State.USER, NONE),
    ],
)
def test_the_end_of_a_call_says_that_it_ran_before(
    first: dict[str, Any], state: State, target: int, tmp_path: Path
) -> None:
    found = segments(traced(tmp_path, [first, *switch(150, ONE, IDLE_0)], 200), tmp_path)[ONE]
    assert found[0][2:] == (state, target)


def test_the_window_may_begin_before_and_end_after_the_events(tmp_path: Path) -> None:
    events = [*switch(500, IDLE_0, ONE), *switch(600, ONE, IDLE_0, Sleep.INTERRUPTIBLE)]
    found = measured(tmp_path, events, 900, begin=-100)
    assert found.seconds == pytest.approx(1000e-9)
    assert times(found.processes["server"]) == {"ready": 600, "user": 100, "asleep": {"unknown": 300}}
    assert found.cpus == {"cpu0": 100}


# --- the ten steps ---


def uses(found: Jobs) -> list[tuple[int, int, int, int, int | None, int | None]]:
    return [
        (
            one.object,
            one.actor,
            one.transaction,
            one.request_ns - T0,
            None if one.accept_ns is None else one.accept_ns - T0,
            None if one.finish_ns is None else one.finish_ns - T0,
        )
        for one in found.uses
    ]


def job(
    kind: Kind, time: int, actor: int, target: int = ORDER, request: int = 1, **others: int
) -> dict[str, Any]:
    return event(time, kind, actor, target, request=request, **others)


def disk(
    begin: int, end: int, actor: int, request: int, target: int = DISK, accept: int | None = None
) -> Events:
    return [
        job(Kind.REQUEST, begin, actor, target, request, value=512),
        job(Kind.ACCEPT, begin if accept is None else accept, actor, target, request),
        job(Kind.FINISH, end, NONE, target, request),
    ]


def test_objects_are_used_for_the_transaction_of_their_requester(tmp_path: Path) -> None:
    events = [
        *disk(50, 60, ONE, 1),
        job(Kind.ACCEPT, 100, ONE),
        *disk(150, 250, ONE, 2, accept=170),
        job(Kind.REQUEST, 300, ONE, DATABASE, 7),
        *disk(310, 320, QUERY, 3),
        job(Kind.ACCEPT, 350, QUERY, DATABASE, 7),
        *disk(400, 480, QUERY, 4),
        job(Kind.FINISH, 500, QUERY, DATABASE, 7),
        *disk(510, 530, QUERY, 5),
        job(Kind.REQUEST, 600, ONE, DISK, 6, value=512),
        job(Kind.FINISH, 700, ONE),
        job(Kind.ACCEPT, 750, ONE, DISK, 6),
        job(Kind.FINISH, 900, NONE, DISK, 6),
        *disk(910, 920, ONE, 8),
    ]
    found = jobs(tmp_path, events)
    assert uses(found) == [
        (DISK, ONE, NONE, 50, 50, 60),
        (DISK, ONE, 0, 150, 170, 250),
        (DISK, QUERY, NONE, 310, 310, 320),
        (DISK, QUERY, 0, 400, 400, 480),
        (DISK, QUERY, NONE, 510, 510, 530),
        # Asynchronous: it begins and ends after the transaction.
        (DISK, ONE, 0, 600, 750, 900),
        (DISK, ONE, NONE, 910, 910, 920),
    ]
    spans = [(one.accept_ns, one.finish_ns) for one in found.uses if one.transaction == 0]
    assert sum(end - begin for begin, end in spans if begin and end) == 80 + 80 + 150
    assert found.unmatched == 0


def test_a_process_that_is_asked_works_for_the_transaction_until_its_own_finish(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE),
        job(Kind.REQUEST, 150, ONE, DATABASE, 7),
        job(Kind.FINISH, 200, ONE),
        job(Kind.ACCEPT, 250, QUERY, DATABASE, 7),
        *disk(300, 400, QUERY, 1),
        job(Kind.FINISH, 500, QUERY, DATABASE, 7),
        *disk(510, 530, QUERY, 2),
    ]
    assert [row[2] for row in uses(jobs(tmp_path, events))] == [0, NONE]


def test_a_process_goes_on_after_the_transaction_that_asked_it(tmp_path: Path) -> None:
    # Steps 4 and 6: the finish of the transaction removes only its own process from W.
    events = [
        job(Kind.ACCEPT, 100, ONE),
        job(Kind.REQUEST, 150, ONE, DATABASE, 7),
        job(Kind.ACCEPT, 160, QUERY, DATABASE, 7),
        job(Kind.FINISH, 200, ONE),
        *disk(300, 400, QUERY, 1),
        job(Kind.FINISH, 500, QUERY, DATABASE, 7),
        *disk(510, 530, QUERY, 2),
    ]
    assert [row[2] for row in uses(jobs(tmp_path, events))] == [0, NONE]


def test_a_process_that_is_asked_in_turn_works_for_the_same_transaction(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE),
        job(Kind.REQUEST, 110, ONE, DATABASE, 1),
        job(Kind.ACCEPT, 120, QUERY, DATABASE, 1),
        job(Kind.REQUEST, 130, QUERY, TWO, 9),
        job(Kind.ACCEPT, 140, TWO, TWO, 9),
        *disk(150, 160, TWO, 1),
        job(Kind.FINISH, 170, TWO, TWO, 9),
        job(Kind.FINISH, 180, QUERY, DATABASE, 1),
        job(Kind.FINISH, 190, ONE),
    ]
    assert uses(jobs(tmp_path, events)) == [(DISK, TWO, 0, 150, 150, 160)]


def test_use_and_wait_add_up_by_equations_1_and_2(tmp_path: Path) -> None:
    events = [
        *disk(100, 200, ONE, 1, accept=130),
        *disk(110, 400, TWO, 2, accept=200),
        *disk(500, 600, ONE, 3),
        *disk(120, 180, ONE, 1, target=DISK_B),
        job(Kind.REQUEST, 700, ONE, DISK, 4, value=4096),
        job(Kind.REQUEST, 800, ONE, DISK, 5),
        job(Kind.ACCEPT, 900, ONE, DISK, 5),
    ]
    found = measured(tmp_path, events, 1000).usages
    one = found["sda"]
    assert one.used_ns == 70 + 200 + 100
    assert one.waited_ns == 30 + 90 + 0 + 100
    assert (one.uses, one.contended, one.incomplete, one.bytes) == (5, 3, 2, 3 * 512 + 4096)
    assert (found["sdb"].uses, found["sdb"].used_ns, found["sdb"].waited_ns) == (1, 60, 0)


# --- transactions ---


def test_response_is_from_request_to_finish_and_throughput_per_window(tmp_path: Path) -> None:
    events = [
        job(Kind.REQUEST, 50, NONE, request=1),
        job(Kind.REQUEST, 80, NONE, request=2),
        job(Kind.ACCEPT, 100, ONE, request=1),
        job(Kind.ACCEPT, 120, TWO, request=2),
        job(Kind.FINISH, 350, ONE, request=1),
        job(Kind.FINISH, 580, TWO, request=2),
        job(Kind.ACCEPT, 600, ONE, request=3),
        job(Kind.FINISH, 700, ONE, request=3),
    ]
    found = measured(tmp_path, events, 1000)
    assert found.responses.tolist() == [300, 500, 100]
    assert (found.transactions, found.response_ns) == (3, 300)
    assert found.throughput == pytest.approx(3 / 1000e-9)
    values = {row[0]: row[1] for row in metrics(found)}
    assert (values["event_transactions"], values["event_response"]) == (3, 300)


def test_a_trace_may_begin_at_time_zero(tmp_path: Path) -> None:
    events = [job(Kind.REQUEST, -T0, NONE), job(Kind.ACCEPT, 100 - T0, ONE), job(Kind.FINISH, 350 - T0, ONE)]
    trace = write_trace(tmp_path, events, OBJECTS, Facts(0, 1000, 2))
    assert measure(trace).responses.tolist() == [350]


def test_without_transactions_there_is_no_response(tmp_path: Path) -> None:
    found = measured(tmp_path, switch(100, IDLE_0, ONE), 1000)
    assert (found.transactions, found.response_ns, found.throughput, len(found.responses)) == (0, None, 0, 0)
    assert {row[0] for row in metrics(found)} == {"event_transactions", "event_throughput", "event_cpu_busy"}


def test_missing_accepts_and_finishes_are_counted(tmp_path: Path) -> None:
    events = [
        job(Kind.FINISH, 50, ONE, request=1),
        job(Kind.ACCEPT, 100, ONE, request=2),
        job(Kind.FINISH, 200, ONE, request=2),
        job(Kind.FINISH, 300, NONE, DISK, 9),
        job(Kind.FINISH, 310, QUERY, DATABASE, 9),
        job(Kind.ACCEPT, 400, TWO, request=3),
        job(Kind.REQUEST, 500, NONE, request=4),
    ]
    trace = traced(tmp_path, events, 1000)
    found = measure(trace)
    assert (found.transactions, found.responses.tolist()) == (1, [100])
    assert Timeline(trace, tmp_path).jobs.unmatched == 3
    assert [remark.split()[0] for remark in found.remarks] == ["3", "1"]


def work(folder: Path, events: Events, actor: int) -> list[tuple[int, int]]:
    """Begins of the segments of a thread where it works for another transaction than before, with the transaction."""
    found: list[tuple[int, int]] = []
    rows = [
        (int(begin) - T0, int(at))
        for batch in Timeline(traced(folder, events, 1000), folder).batches()
        for one, begin, at in zip(batch.actor, batch.begin_ns, batch.transaction, strict=True)
        if one == actor
    ]
    for begin, at in sorted(rows, key=lambda row: row[0]):
        if not found or found[-1][1] != at:
            found.append((begin, at))
    return found


def test_nested_transactions_of_a_thread_return_to_the_outer_one(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE, request=1),
        job(Kind.ACCEPT, 200, ONE, request=2),
        job(Kind.FINISH, 300, ONE, request=2),
        job(Kind.FINISH, 400, ONE, request=1),
    ]
    assert work(tmp_path, events, ONE) == [(0, NONE), (100, 0), (200, 1), (300, 0), (400, NONE)]


def test_overlapping_transactions_of_a_thread_end_in_any_order(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE, request=1),
        job(Kind.ACCEPT, 200, ONE, request=2),
        job(Kind.FINISH, 300, ONE, request=1),
        job(Kind.FINISH, 400, ONE, request=2),
    ]
    assert work(tmp_path, events, ONE) == [(0, NONE), (100, 0), (200, 1), (400, NONE)]
    assert measured(tmp_path, events, 1000).responses.tolist() == [200, 200]


def test_a_transaction_that_another_thread_finishes_ends_for_both(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE),
        job(Kind.WAIT, 200, ONE),
        job(Kind.ACCEPT, 300, TWO),
        job(Kind.FINISH, 400, TWO),
        *call(500, 600, ONE),
    ]
    assert work(tmp_path, events, ONE) == [(0, NONE), (100, 0), (200, NONE)]
    assert work(tmp_path, events, TWO) == [(0, NONE), (300, 0), (400, NONE)]
    assert measured(tmp_path, events, 1000).responses.tolist() == [300]


def test_a_transaction_that_another_thread_finishes_without_an_accept_ends(tmp_path: Path) -> None:
    events = [job(Kind.ACCEPT, 100, ONE), job(Kind.FINISH, 400, TWO), *call(500, 600, ONE)]
    assert work(tmp_path, events, ONE)[:2] == [(0, NONE), (100, 0)]
    assert work(tmp_path, events, ONE)[-1][1] == NONE


def test_a_transaction_that_is_accepted_twice_ends_once(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE),
        job(Kind.ACCEPT, 200, ONE),
        job(Kind.FINISH, 300, ONE),
        *disk(400, 500, ONE, 1),
    ]
    assert work(tmp_path, events, ONE) == [(0, NONE), (100, 0), (300, NONE)]
    assert [row[2] for row in uses(jobs(tmp_path, events))] == [NONE]


def test_a_number_may_be_used_again_after_the_finish(tmp_path: Path) -> None:
    events = [
        event
        for begin in (100, 300, 500)
        for event in (job(Kind.ACCEPT, begin, ONE), job(Kind.FINISH, begin + 50, ONE))
    ]
    assert measured(tmp_path, events, 1000).responses.tolist() == [50, 50, 50]


def test_a_process_request_that_another_thread_finishes_ends_for_the_one_that_accepted_it(
    tmp_path: Path,
) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE),
        job(Kind.REQUEST, 110, ONE, DATABASE, 1),
        job(Kind.ACCEPT, 120, QUERY, DATABASE, 1),
        job(Kind.FINISH, 180, TWO, DATABASE, 1),
        *disk(200, 210, QUERY, 1),
        job(Kind.FINISH, 300, ONE),
    ]
    assert [row[2] for row in uses(jobs(tmp_path, events))] == [NONE]


# --- semi-busy-waiting ---


def herd(round_begin: int, servers: Sequence[int], worker: int, request: int) -> Events:
    """Figure 7: all servers are woken; one works, and the others go back to sleep at once."""
    events: Events = []
    for place, server in enumerate(servers):
        at = round_begin + 10 + 10 * place
        events += [wake(round_begin, server, NET), *switch(at, IDLE_0, server)]
        if server != worker:
            events += switch(at + 5, server, IDLE_0, Sleep.INTERRUPTIBLE)
        else:
            events += [
                job(Kind.ACCEPT, at + 1, server, request=request),
                job(Kind.FINISH, at + 4, server, request=request),
                *switch(at + 5, server, IDLE_0, Sleep.INTERRUPTIBLE),
            ]
    return events


def test_servers_that_are_woken_in_vain_wait_semi_busily(tmp_path: Path) -> None:
    servers = [ONE, TWO, ALONE]
    workers = [ONE, TWO, ALONE, TWO, TWO, ONE, ALONE]
    events = [event for at, worker in enumerate(workers) for event in herd(100 * at, servers, worker, at + 1)]
    # Wake-ups between the works of a server, less the one that is needed: ONE works in rounds 0 and 5, with wake-ups in rounds 1 to
    # 5; TWO in 1, 3 and 4; ALONE in 2 and 6.
    assert measured(tmp_path, events, 1000).unneeded_wakeups == (5 - 1) + (2 - 1) + (1 - 1) + (4 - 1)


def test_no_server_waits_semi_busily_if_only_the_worker_is_woken(tmp_path: Path) -> None:
    events = [
        event for at in range(6) for event in herd(100 * at, [(ONE, TWO)[at % 2]], (ONE, TWO)[at % 2], at + 1)
    ]
    assert measured(tmp_path, events, 1000).unneeded_wakeups == 0


def test_the_gap_after_the_last_of_nested_transactions_is_not_complete(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 10, ONE, request=1),
        job(Kind.ACCEPT, 20, ONE, request=2),
        job(Kind.FINISH, 30, ONE, request=2),
        job(Kind.FINISH, 40, ONE, request=1),
        *switch(50, ONE, IDLE_0, Sleep.INTERRUPTIBLE),
        *(
            event
            for at in range(100, 400, 100)
            for event in (wake(at, ONE, NET), *switch(at + 10, IDLE_0, ONE), *switch(at + 20, ONE, IDLE_0, Sleep.INTERRUPTIBLE))
        ),
    ]  # fmt: skip
    assert measured(tmp_path, events, 1000).unneeded_wakeups == 0


# --- locks ---


def test_a_lock_is_used_from_its_grant_to_its_return(tmp_path: Path) -> None:
    events = [
        job(Kind.REQUEST, 100, ONE, MUTEX, 1),
        job(Kind.ACCEPT, 100, ONE, MUTEX, 1),
        job(Kind.REQUEST, 150, TWO, MUTEX, 2),
        job(Kind.FINISH, 300, ONE, MUTEX, 1),
        job(Kind.ACCEPT, 310, TWO, MUTEX, 2),
        job(Kind.FINISH, 400, TWO, MUTEX, 2),
    ]
    one = measured(tmp_path, events, 1000).usages["mutex"]
    assert (one.uses, one.used_ns, one.waited_ns, one.contended, one.incomplete) == (2, 290, 160, 1, 0)


def imported(folder: Path, *lines: str) -> Trace:
    (folder / "text").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return import_text(folder / "text", folder / "trace")


def at(micro: int, thread: str, rest: str, cpu: int = 0) -> str:
    """A line of ftrace."""
    return f"{thread:>16s} [{cpu:03d}] ..... {10 + micro / 1e6:.6f}: {rest}"


def switched(micro: int, before: str, state: str, after: str, cpu: int = 0) -> str:
    name, tid = before.rsplit("-", 1)
    other, number = after.rsplit("-", 1)
    return at(
        micro, before,
        f"sched_switch: prev_comm={name} prev_pid={tid} prev_prio=120 prev_state={state} ==> next_comm={other} next_pid={number} next_prio=120",
        cpu,
    )  # fmt: skip


def test_threads_that_wait_for_one_kernel_lock_at_once_have_their_own_waits(tmp_path: Path) -> None:
    trace = imported(
        tmp_path,
        switched(0, "<idle>-0", "R", "one-1"),
        switched(0, "<idle>-0", "R", "two-2", 1),
        at(10, "one-1", "contention_begin: 0xffff0001 (flags=SPIN)"),
        at(20, "two-2", "contention_begin: 0xffff0001 (flags=SPIN)", 1),
        at(50, "one-1", "contention_end: 0xffff0001 (ret=0)"),
        at(90, "two-2", "contention_end: 0xffff0001 (ret=0)", 1),
    )
    found = measure(trace)
    usage = found.usages[KERNEL_LOCKS]
    assert (usage.uses, usage.waited_ns, usage.contended, usage.incomplete) == (2, 40_000 + 70_000, 2, 0)
    assert found.processes["one"].spin == 40_000
    assert found.processes["two"].spin == 70_000


def test_a_mutex_that_spins_and_then_sleeps_is_one_wait(tmp_path: Path) -> None:
    trace = imported(
        tmp_path,
        switched(0, "<idle>-0", "R", "one-1"),
        at(10, "one-1", "contention_begin: 0xffff0001 (flags=SPIN|MUTEX)"),
        at(30, "one-1", "contention_begin: 0xffff0001 (flags=MUTEX)"),
        switched(40, "one-1", "D", "<idle>-0"),
        at(70, "<idle>-0", "sched_waking: comm=one pid=1 prio=120 target_cpu=000"),
        switched(80, "<idle>-0", "R", "one-1"),
        at(90, "one-1", "contention_end: 0xffff0001 (ret=0)"),
        at(100, "one-1", "sys_exit: NR 1 = 1"),
    )
    found = measure(trace)
    usage = found.usages[KERNEL_LOCKS]
    assert (usage.uses, usage.waited_ns, usage.contended, usage.incomplete) == (1, 80_000, 1, 0)
    assert (found.processes["one"].spin, dict(found.processes["one"].asleep)) == (20_000, {"lock": 30_000})


# --- phases ---


def test_phases_divide_the_times_of_threads_that_serve(tmp_path: Path) -> None:
    events = [
        *switch(0, IDLE_0, ONE),
        job(Kind.ACCEPT, 100, ONE),
        event(100, Kind.ACCEPT, ONE, PARSE),
        event(150, Kind.ACCEPT, ONE, PARSE),
        *call(200, 250, ONE),
        event(300, Kind.ACCEPT, ONE, SEND),
        *switch(350, ONE, IDLE_0, Sleep.INTERRUPTIBLE),
        wake(450, ONE, NET),
        *switch(460, IDLE_0, ONE),
        event(500, Kind.ACCEPT, ONE, PARSE),
        event(600, Kind.FINISH, ONE, PARSE),
        job(Kind.FINISH, 700, ONE),
        *switch(700, IDLE_1, ALONE, cpu=1),
        event(750, Kind.ACCEPT, ALONE, PARSE),
    ]
    found = measured(tmp_path, events, 1000)
    assert {name: times(one) for name, one in found.phases.items()} == {
        NO_PHASE: {"user": 500},
        "parse": {"user": 250, "kernel": 50},
        "send": {"user": 90, "ready": 10, "asleep": {"network": 100}},
    }
    assert {name: one.entries for name, one in found.phases.items()} == {NO_PHASE: 0, "parse": 2, "send": 1}
    assert (found.phases["send"].wakeups, found.phases["send"].switches) == ({"network": 1}, 1)
    assert found.service.elapsed == 1000


# --- imported traces ---


def spans(trace: Trace) -> list[int]:
    with_lengths = [
        (batch.end_ns - batch.begin_ns).tolist() for batch in Timeline(trace, trace.folder).batches()
    ]
    return [length for batch in with_lengths for length in batch]


def test_times_that_go_back_give_no_negative_times(tmp_path: Path) -> None:
    lines = [
        switched(0, "<idle>-0", "R", "one-1"),
        at(100, "one-1", "sys_enter: NR 0 (0)"),
        at(60, "one-1", "sys_exit: NR 0 = 0"),
        switched(50, "one-1", "S", "<idle>-0"),
        at(40, "<idle>-0", "sched_waking: comm=one pid=1 prio=120 target_cpu=000"),
        switched(30, "<idle>-0", "R", "one-1"),
        at(20, "one-1", "block_rq_issue: 8,0 R 4096 () 100 + 8 [one]"),
        at(10, "one-1", "block_rq_complete: 8,0 R () 100 + 8 [0]"),
        switched(110, "one-1", "X", "<idle>-0"),
    ]
    trace = imported(tmp_path, *lines)
    times_of = pq.read_table(trace.events).column("time_ns").to_pylist()
    assert times_of == sorted(times_of)
    assert min(spans(trace)) >= 0
    found = measure(trace)
    assert all(value >= 0 for one in found.processes.values() for value in (one.cpu, one.ready, one.elapsed))
    assert found.cpus["cpu0"] <= 110_000


def test_a_thread_number_that_is_used_again_is_another_thread(tmp_path: Path) -> None:
    fork = "sched_process_fork: comm=sh pid=1 child_comm=sh child_pid=7"
    trace = imported(
        tmp_path,
        switched(0, "<idle>-0", "R", "sh-1"),
        at(10, "sh-1", fork),
        switched(20, "sh-1", "R", "sh-7"),
        switched(50, "sh-7", "X", "sh-1"),
        at(100, "sh-1", fork),
        switched(120, "sh-1", "R", "sh-7"),
        switched(160, "sh-7", "X", "sh-1"),
        switched(200, "sh-1", "S", "<idle>-0"),
    )
    lives = [one["id"] for one in trace.read_objects().to_pylist() if one["tid"] == 7]
    found: dict[int, list[tuple[int, int, State]]] = {}
    for batch in Timeline(trace, tmp_path).batches():
        for actor, begin, end, state in zip(
            batch.actor, batch.begin_ns, batch.end_ns, batch.state, strict=True
        ):
            row = (
                int(begin - trace.facts.begin_ns) // 1000,
                int(end - trace.facts.begin_ns) // 1000,
                State(state),
            )
            found.setdefault(int(actor), []).append(row)
    assert [found[life] for life in lives] == [
        [(10, 20, State.READY), (20, 50, State.USER), (50, 200, State.ENDED)],
        [(100, 120, State.READY), (120, 160, State.USER), (160, 200, State.ENDED)],
    ]


def test_switches_from_idle_threads_that_are_missing_are_added(tmp_path: Path) -> None:
    trace = imported(
        tmp_path,
        switched(0, "one-1", "S", "<idle>-0"),
        at(100, "<idle>-0", "sched_waking: comm=one pid=1 prio=120 target_cpu=000"),
        at(150, "one-1", "sys_exit: NR 0 = 1"),
        switched(200, "one-1", "S", "<idle>-0"),
    )
    found = measure(trace)
    assert found.cpus == {"cpu0": 100_000}
    assert times(found.processes["one"])["asleep"] == {"interrupt": 100_000}
    assert len(trace.facts.remarks) == 1


def test_lost_events_are_remarked(tmp_path: Path) -> None:
    trace = imported(
        tmp_path,
        switched(0, "<idle>-0", "R", "one-1"),
        "CPU:0 [LOST 4 EVENTS]",
        switched(9, "one-1", "S", "<idle>-0"),
    )
    found = measure(trace)
    assert trace.facts.lost == {"0": 4}
    assert [remark.split()[0] for remark in found.remarks] == ["4"]


def test_events_of_a_cpu_may_stand_behind_those_of_another(tmp_path: Path) -> None:
    one = [switched(0, "<idle>-0", "R", "one-1"), switched(500, "one-1", "S", "<idle>-0")]
    two = [switched(100, "<idle>-0", "R", "two-2", 1), switched(300, "two-2", "S", "<idle>-0", 1)]
    for lines in ([*one, *two], [*two, *one], [one[0], *two, one[1]]):
        assert measure(imported(tmp_path, *lines)).cpus == {"cpu0": 500_000, "cpu1": 200_000}
