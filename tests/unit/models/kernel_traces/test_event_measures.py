"""Times of small traces by state, phase and lock, against answers computed by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from helpers.hand_made_traces import (
    ALONE,
    DISK,
    IDLE_0,
    IDLE_1,
    KERNEL_LOCK,
    KWORKER,
    MUTEX,
    NET,
    ONE,
    OTHER,
    PARSE,
    READ,
    SEND,
    SERVER,
    TIMER,
    TWO,
    call,
    event,
    job,
    measured,
    segments,
    switch,
    times,
    traced,
    wake,
)
from regatta.models.kernel_traces.importing import import_text
from regatta.models.kernel_traces.measures import NO_PHASE, measure, metrics
from regatta.models.kernel_traces.model import KERNEL_LOCKS, NONE, Kind, Sleep, Trace
from regatta.models.kernel_traces.timeline import State, Timeline

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
    assert found.cpus == {"cpu0": 800, "cpu1": 0}
    assert found.interrupts == {"network": 90, "timer": 10}


def test_interrupts_of_an_idle_cpu_keep_it_busy(tmp_path: Path) -> None:
    events = [
        event(100, Kind.INTERRUPT, IDLE_1, NET, cpu=1),
        event(150, Kind.INTERRUPT_END, IDLE_1, NET, cpu=1),
        *switch(400, IDLE_1, KWORKER, cpu=1),
        *switch(600, KWORKER, IDLE_1, Sleep.INTERRUPTIBLE, cpu=1),
    ]
    found = measured(tmp_path, events, 1000)
    assert found.cpus == {"cpu0": 0, "cpu1": 250}
    assert times(found.processes["kernel"]) == {"ready": 400, "kernel": 200, "asleep": {"unknown": 400}}
    assert set(found.processes) == {"kernel"}
    (idle, (_, busy, unit, parameters)) = (row for row in metrics(found) if row[0] == "event_cpu_busy")
    assert idle == ("event_cpu_busy", 0.0, "%", {"cpu": "cpu0"})
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
    assert found.cpus == {"cpu0": 100, "cpu1": 0}


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
