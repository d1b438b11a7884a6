"""Perfetto files hold what the event trace holds: read back with Perfetto's own message classes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages

from helpers.synthetic_traces import write_trace
from regatta.host.errors import FullDisk, RegattaError
from regatta.models.kernel_traces import perfetto, perfetto_scheduling, perfetto_tracks
from regatta.models.kernel_traces.model import NONE, Facts, Kind, Sleep, Trace
from regatta.models.kernel_traces.perfetto import export_perfetto

T0 = 10**12
IDLE_0, IDLE_1, MAIN, WORKER, READ, WORK, SERVE, LOCK, TIMER, FIRST, SECOND, PROCESS, CLIENT, DISK = range(14)
OBJECTS: list[dict[str, Any]] = [
    {"kind": "idle", "name": "idle/0", "tid": 0},
    {"kind": "idle", "name": "idle/1", "tid": 0},
    {"kind": "thread", "name": "main", "pid": 7, "tid": 7, "parent": PROCESS},
    {"kind": "thread", "name": "worker", "tid": 8, "parent": PROCESS},
    {"kind": "system-call", "name": "read"},
    {"kind": "function", "name": "work"},
    {"kind": "transaction", "name": "serve"},
    {"kind": "lock", "name": "mutex"},
    {"kind": "timer", "name": "tick"},
    {"kind": "phase", "name": "first"},
    {"kind": "phase", "name": "second"},
    {"kind": "process", "name": "program", "pid": 7},
    {"kind": "client", "name": "browser"},
    {"kind": "disk", "name": "sda"},
]


def exported(folder: Path, events: Sequence[Mapping[str, Any]]) -> Any:
    """The message of a file with these events."""
    trace = write_trace(folder / "trace", events, OBJECTS)
    return read_back(trace, folder / "out.pftrace")


def read_back(trace: Trace, path: Path) -> Any:
    export_perfetto(trace, path)
    return messages.Trace.FromString(path.read_bytes())


def event(time: int, kind: Kind, actor: int = -1, number: int = -1, **others: int) -> dict[str, Any]:
    return {"time_ns": T0 + time, "kind": kind, "actor": actor, "object": number, **others}


def switch(time: int, cpu: int, before: int, after: int, sleep: int | None = None) -> list[dict[str, Any]]:
    """The two events of a switch."""
    leaves = {"kind": Kind.PREEMPT} if sleep is None else {"kind": Kind.SLEEP, "value": sleep}
    return [
        {"time_ns": T0 + time, "cpu": cpu, "actor": before, **leaves},
        {"time_ns": T0 + time, "cpu": cpu, "actor": after, "kind": Kind.RESUME},
    ]


def switches(trace: Any) -> dict[int, list[tuple[int, int, int, str]]]:
    """Per CPU: time, state of the thread that leaves, tid and name of the one that enters."""
    found: dict[int, list[tuple[int, int, int, str]]] = {}
    for packet in trace.packet:
        compact, time = packet.ftrace_events.compact_sched, 0
        columns = (
            compact.switch_timestamp,
            compact.switch_prev_state,
            compact.switch_next_pid,
            compact.switch_next_comm_index,
            compact.switch_next_prio,
        )
        for delta, state, tid, name, _ in zip(*columns, strict=True):
            time += delta
            row = (time - T0, state, tid, compact.intern_table[name])
            found.setdefault(packet.ftrace_events.cpu, []).append(row)
    return found


def tracks(trace: Any) -> dict[int, Any]:
    found = [packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")]
    assert len({one.uuid for one in found}) == len(found)
    return {one.uuid: one for one in found}


def slices(trace: Any) -> list[tuple[str, str, int, int | None]]:
    """Track, name, begin and end of all slices, as Perfetto nests them; sorted."""
    described, found = tracks(trace), []
    written = [packet for packet in trace.packet if packet.HasField("track_event")]
    stacks: dict[int, list[tuple[str, int]]] = {}
    for packet in sorted(written, key=lambda packet: packet.timestamp):
        assert packet.timestamp_clock_id == messages.BUILTIN_CLOCK_MONOTONIC
        one, time = packet.track_event, packet.timestamp - T0
        stack = stacks.setdefault(one.track_uuid, [])
        if one.type == messages.TrackEvent.TYPE_SLICE_BEGIN:
            stack.append((one.name, time))
        elif one.type == messages.TrackEvent.TYPE_SLICE_END:
            found.append((label(described[one.track_uuid]), *stack.pop(), time))
    for uuid, stack in stacks.items():
        found += [(label(described[uuid]), name, begin, None) for name, begin in stack]
    return sorted(found, key=str)


def label(track: Any) -> str:
    return str(track.thread.thread_name or track.name)


def flows(trace: Any) -> list[tuple[int, str, str, int, bool]]:
    """Time, track, name, flow, and whether the flow ends there."""
    described = tracks(trace)
    return sorted(
        (packet.timestamp - T0, label(described[one.track_uuid]), one.name, flow, last)
        for packet in trace.packet
        for one in [packet.track_event]
        for ids, last in ((one.flow_ids, False), (one.terminating_flow_ids, True))
        for flow in ids
    )


def test_switches_keep_times_states_threads_and_names(tmp_path: Path) -> None:
    found = switches(
        exported(
            tmp_path,
            [
                *switch(10, 0, IDLE_0, MAIN),
                *switch(20, 1, IDLE_1, WORKER),
                *switch(30, 0, MAIN, IDLE_0, Sleep.INTERRUPTIBLE),
                *switch(40, 1, WORKER, MAIN),
                *switch(50, 1, MAIN, WORKER, Sleep.UNINTERRUPTIBLE),
                *switch(60, 1, WORKER, IDLE_1, Sleep.ENDED),
            ],
        )
    )
    assert found == {
        0: [(10, 0, 7, "main"), (30, 1, 0, "idle/0")],
        1: [(20, 0, 8, "worker"), (40, 0, 7, "main"), (50, 2, 8, "worker"), (60, 16, 0, "idle/1")],
    }


def test_half_a_switch_is_one_to_or_from_the_unknown(tmp_path: Path) -> None:
    found = switches(
        exported(
            tmp_path,
            [
                event(1, Kind.RESUME, MAIN),
                event(5, Kind.SLEEP, MAIN, value=Sleep.INTERRUPTIBLE),
                event(9, Kind.RESUME, WORKER),
                event(12, Kind.SLEEP, WORKER, value=Sleep.UNINTERRUPTIBLE),
            ],
        )
    )
    assert found == {0: [(1, 0, 7, "main"), (5, 1, 0, ""), (9, 0, 8, "worker"), (12, 2, 0, "")]}


def test_the_thread_that_enters_may_come_first(tmp_path: Path) -> None:
    pair = switch(5, 0, MAIN, WORKER, Sleep.INTERRUPTIBLE)
    found = switches(exported(tmp_path, [event(1, Kind.RESUME, MAIN), *reversed(pair)]))
    assert found == {0: [(1, 0, 7, "main"), (5, 1, 8, "worker")]}


def test_switches_at_one_time_stay_apart(tmp_path: Path) -> None:
    events = [*switch(5, 0, IDLE_0, MAIN), *switch(5, 0, MAIN, WORKER, Sleep.INTERRUPTIBLE)]
    assert switches(exported(tmp_path, events)) == {0: [(5, 0, 7, "main"), (5, 1, 8, "worker")]}


@st.composite
def schedules(draw: st.DrawFn) -> list[tuple[int, int, int, int | None]]:
    """Time, CPU, thread that enters, and how the one before leaves (None: preempted)."""
    steps = draw(st.lists(st.tuples(st.integers(1, 10**7), st.integers(0, 3)), max_size=40))
    running, time, rows = dict.fromkeys(range(4), IDLE_0), 0, []
    for step, cpu in steps:
        time += step
        after = draw(st.sampled_from([n for n in (IDLE_0, MAIN, WORKER) if n != running[cpu]]))
        sleep = None if running[cpu] == IDLE_0 else draw(st.sampled_from([None, *Sleep]))
        rows.append((time, cpu, after, sleep))
        running[cpu] = after
    return rows


@given(rows=schedules(), batch=st.integers(1, 9), bundle=st.integers(1, 5))
def test_any_schedule_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, int, int, int | None]],
    batch: int,
    bundle: int,
) -> None:
    running, events = dict.fromkeys(range(4), IDLE_0), []
    expected: dict[int, list[tuple[int, int, int, str]]] = {}
    for time, cpu, after, sleep in rows:
        events += switch(time, cpu, running[cpu], after, sleep)
        state = 0 if sleep is None else {0: 1, 1: 2, 2: 16}[sleep]
        tid = {IDLE_0: 0, MAIN: 7, WORKER: 8}[after]
        expected.setdefault(cpu, []).append((time, state, tid, OBJECTS[after]["name"]))
        running[cpu] = after
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(perfetto, "_ROWS", batch)
        patch.setattr(perfetto_scheduling, "BUNDLE", bundle)
        trace = exported(tmp_path_factory.mktemp("any"), events)
    assert switches(trace) == expected
    sizes = [len(packet.ftrace_events.compact_sched.switch_timestamp) for packet in trace.packet]
    assert max(sizes) <= bundle


def test_wakings_name_the_thread_and_the_cpu_of_the_cause(tmp_path: Path) -> None:
    trace = exported(
        tmp_path,
        [
            event(3, Kind.WAKE, WORKER, cpu=1, peer=MAIN),
            event(8, Kind.WAKE, MAIN, cpu=1, peer=TIMER),
            event(9, Kind.WAKE, MAIN, cpu=0),
        ],
    )
    found = {}
    for packet in trace.packet:
        if packet.HasField("ftrace_events"):
            compact = packet.ftrace_events.compact_sched
            found[packet.ftrace_events.cpu] = (
                list(compact.waking_timestamp),
                list(compact.waking_pid),
                [compact.intern_table[n] for n in compact.waking_comm_index],
                [bool(flags) for flags in compact.waking_common_flags],
                list(compact.waking_target_cpu),
                len(compact.waking_prio),
            )
    assert found == {
        0: ([T0 + 9], [7], ["main"], [False], [0], 1),
        1: ([T0 + 3, 5], [8, 7], ["worker", "main"], [False, True], [1, 1], 2),
    }


def test_the_tree_names_threads_and_processes(tmp_path: Path) -> None:
    trace = exported(tmp_path, [event(0, Kind.RESUME, MAIN)])
    (tree,) = (packet.process_tree for packet in trace.packet if packet.HasField("process_tree"))
    assert [(one.pid, list(one.cmdline)) for one in tree.processes] == [(7, ["program"])]
    assert [(one.tid, one.tgid, one.name) for one in tree.threads] == [(7, 7, "main"), (8, 7, "worker")]


def test_threads_of_unknown_numbers_stay_different(tmp_path: Path) -> None:
    objects: list[dict[str, Any]] = [
        {"name": "a", "tid": 5, "pid": 9},
        {"name": "b"},
        {"name": "c", "tid": NONE, "pid": NONE},
    ]
    trace = write_trace(tmp_path / "trace", [{"kind": Kind.RESUME, "actor": 2}], objects)
    (tree,) = (
        one.process_tree for one in read_back(trace, tmp_path / "o").packet if one.process_tree.threads
    )
    assert [(one.tid, one.tgid) for one in tree.threads] == [(5, 9), (10, 10), (11, 11)]


def test_times_are_by_the_monotonic_clock(tmp_path: Path) -> None:
    facts = Facts(T0, T0 + 5, 1, realtime_offset_ns=17)
    trace = read_back(write_trace(tmp_path / "trace", [], OBJECTS, facts), tmp_path / "out.pftrace")
    snapshot = trace.packet[0].clock_snapshot
    assert snapshot.primary_trace_clock == messages.BUILTIN_CLOCK_MONOTONIC
    assert {one.clock_id: one.timestamp for one in snapshot.clocks} == {
        messages.BUILTIN_CLOCK_MONOTONIC: T0,
        messages.BUILTIN_CLOCK_BOOTTIME: T0,
        messages.BUILTIN_CLOCK_REALTIME: T0 + 17,
    }


def test_interrupts_have_a_track_per_cpu(tmp_path: Path) -> None:
    trace = exported(
        tmp_path,
        [
            event(1, Kind.INTERRUPT_END, MAIN, TIMER),
            event(2, Kind.INTERRUPT, MAIN, TIMER),
            event(3, Kind.INTERRUPT, WORKER, TIMER, cpu=1),
            event(4, Kind.INTERRUPT, MAIN, DISK),
            event(5, Kind.INTERRUPT_END, MAIN, DISK),
            event(6, Kind.INTERRUPT_END, MAIN, TIMER),
            event(9, Kind.INTERRUPT_END, WORKER, TIMER, cpu=1),
        ],
    )
    assert [row[1:] for row in slices(trace)] == [("sda", 4, 5), ("tick", 2, 6), ("tick", 3, 9)]
    assert len(tracks(trace)) == 2


CALLS = [
    event(1, Kind.REQUEST, MAIN, WORK),
    event(1, Kind.ACCEPT, MAIN, WORK),
    event(2, Kind.ACCEPT, MAIN, READ),
    event(3, Kind.ACCEPT, WORKER, WORK),
    event(4, Kind.FINISH, MAIN, READ),
    event(5, Kind.ACCEPT, WORKER, READ),
    event(6, Kind.FINISH, MAIN, WORK),
    event(7, Kind.FINISH, WORKER, WORK),
    event(8, Kind.FINISH, WORKER, READ),
    event(9, Kind.ACCEPT, MAIN, READ),
]


def test_calls_nest_on_their_thread_and_an_end_ends_the_calls_within(tmp_path: Path) -> None:
    trace = exported(tmp_path, CALLS)
    assert slices(trace) == [
        ("main", "read", 2, 4),
        ("main", "read", 9, None),
        ("main", "work", 1, 6),
        ("worker", "read", 5, 7),
        ("worker", "work", 3, 7),
    ]
    assert {(one.thread.pid, one.thread.tid) for one in tracks(trace).values()} == {(7, 7), (7, 8)}


def test_a_phase_ends_with_its_end_or_with_the_next_phase(tmp_path: Path) -> None:
    trace = exported(
        tmp_path,
        [
            event(1, Kind.ACCEPT, MAIN, FIRST),
            event(2, Kind.ACCEPT, MAIN, WORK),
            event(3, Kind.ACCEPT, MAIN, SECOND),
            event(4, Kind.FINISH, MAIN, FIRST),
            event(5, Kind.FINISH, MAIN, WORK),
            event(6, Kind.FINISH, MAIN, SECOND),
            event(7, Kind.ACCEPT, MAIN, FIRST),
        ],
    )
    assert slices(trace) == [
        ("main", "work", 2, 5),
        ("phases", "first", 1, 3),
        ("phases", "first", 7, None),
        ("phases", "second", 3, 6),
    ]
    described = tracks(trace)
    (phases,) = (one for one in described.values() if one.name == "phases")
    assert described[phases.parent_uuid].thread.tid == 7


def test_transactions_overlap_and_flows_follow_them_over_threads(tmp_path: Path) -> None:
    trace = exported(
        tmp_path,
        [
            event(1, Kind.REQUEST, CLIENT, SERVE, request=41),
            event(2, Kind.ACCEPT, MAIN, SERVE, request=41),
            event(3, Kind.ACCEPT, MAIN, SERVE, request=42),
            event(5, Kind.FINISH, WORKER, SERVE, request=41),
            event(6, Kind.ACCEPT, MAIN, SERVE, request=43),
            event(7, Kind.FINISH, WORKER, SERVE, request=42),
            event(8, Kind.FINISH, WORKER, SERVE, request=40),
        ],
    )
    assert slices(trace) == [("serve", "serve", 2, 5), ("serve", "serve", 3, 7), ("serve", "serve", 6, None)]
    lanes = [one for one in tracks(trace).values() if one.HasField("sibling_merge_key_int")]
    # The third reuses the lane of the first.
    assert [one.sibling_merge_key_int for one in lanes] == [SERVE + 1] * 2
    assert [row for row in flows(trace) if row[3] == 41] == [
        (1, "browser", "requests serve", 41, False),
        (2, "main", "accepts serve", 41, False),
        (2, "serve", "serve", 41, False),
        (5, "worker", "finishes serve", 41, True),
    ]
    assert {row[3] for row in flows(trace)} == {40, 41, 42, 43}


def test_requests_to_a_disk_are_slices_without_flows(tmp_path: Path) -> None:
    trace = exported(
        tmp_path,
        [
            event(2, Kind.ACCEPT, MAIN, DISK, request=1),
            event(3, Kind.ACCEPT, MAIN, DISK, request=2),
            event(5, Kind.FINISH, MAIN, DISK, request=1),
            event(6, Kind.FINISH, MAIN, DISK, request=2),
        ],
    )
    assert slices(trace) == [("sda", "sda", 2, 5), ("sda", "sda", 3, 6)]
    assert flows(trace) == []


def test_locks_show_who_waits_and_who_holds(tmp_path: Path) -> None:
    trace = exported(
        tmp_path,
        [
            event(1, Kind.REQUEST, MAIN, LOCK),
            event(1, Kind.ACCEPT, MAIN, LOCK),
            event(2, Kind.REQUEST, WORKER, LOCK),
            event(3, Kind.ACCEPT, WORKER, READ),
            event(6, Kind.FINISH, MAIN, LOCK),
            event(7, Kind.FINISH, WORKER, READ),
            event(8, Kind.ACCEPT, WORKER, LOCK),
            event(9, Kind.REQUEST, MAIN, LOCK),
        ],
    )
    assert slices(trace) == [
        ("main", "waits for mutex", 9, None),
        ("mutex", "holds mutex", 1, 6),
        ("mutex", "holds mutex", 8, None),
        ("worker", "read", 3, 7),
        ("worker", "waits for mutex", 2, 8),
    ]
    owners = [note.string_value for one in trace.packet for note in one.track_event.debug_annotations]
    assert owners == ["main", "worker"]


def test_requests_without_a_number_are_those_of_their_thread(tmp_path: Path) -> None:
    trace = exported(
        tmp_path,
        [
            event(1, Kind.ACCEPT, MAIN, SERVE),
            event(2, Kind.ACCEPT, WORKER, SERVE, request=NONE),
            event(3, Kind.FINISH, MAIN, SERVE),
            event(4, Kind.FINISH, WORKER, SERVE, request=NONE),
        ],
    )
    assert slices(trace) == [("serve", "serve", 1, 3), ("serve", "serve", 2, 4)]
    assert flows(trace) == []


def test_a_lock_that_is_never_returned_is_held_by_no_slice(tmp_path: Path) -> None:
    trace = exported(
        tmp_path,
        [event(2, Kind.REQUEST, WORKER, LOCK, request=3), event(5, Kind.ACCEPT, WORKER, LOCK, request=3)],
    )
    assert slices(trace) == [("worker", "waits for mutex", 2, 5)]


@pytest.mark.parametrize(
    "events",
    [
        [{"kind": Kind.RESUME, "actor": len(OBJECTS)}],
        [{"kind": Kind.ACCEPT, "object": -2}],
        [{"kind": Kind.WAKE, "actor": 1, "peer": 99}],
    ],
)
def test_damaged_events_leave_no_file(tmp_path: Path, events: list[dict[str, Any]]) -> None:
    with pytest.raises(RegattaError):
        exported(tmp_path, events)
    assert {path.name for path in tmp_path.iterdir()} == {"trace"}


def test_a_truncated_table_leaves_no_file(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "trace", switch(1, 0, MAIN, WORKER), OBJECTS)
    trace.events.write_bytes(trace.events.read_bytes()[:-20])
    with pytest.raises(RegattaError):
        export_perfetto(trace, tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"trace"}


def test_events_in_disorder_leave_no_file(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "trace", switch(1, 0, MAIN, WORKER) + switch(2, 0, WORKER, MAIN), OBJECTS)
    table = pq.read_table(trace.events)
    pq.write_table(table.take([3, 2, 1, 0]), trace.events)
    with pytest.raises(RegattaError):
        export_perfetto(trace, tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"trace"}


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = write_trace(tmp_path / "trace", switch(1, 0, MAIN, WORKER), OBJECTS)
    written = tmp_path / "out"
    written.write_bytes(b"old")
    write, calls = perfetto_tracks.Packets.write, []

    def full(packets: perfetto_tracks.Packets) -> None:
        calls.append(1)
        if len(calls) > 1:
            raise OSError(28, "full")
        write(packets)

    monkeypatch.setattr(perfetto_tracks.Packets, "write", full)
    with pytest.raises(FullDisk):
        export_perfetto(trace, written)
    assert len(calls) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"trace", "out"}
    assert written.read_bytes() == b"old"


def test_other_commands_do_not_load_the_message_classes() -> None:
    code = "import sys, regatta.models.kernel_traces.perfetto; sys.exit('perfetto' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
