"""Scheduling of an event trace as Perfetto's compact bundles of switches and wakings, one CPU per bundle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from regatta.models.kernel_traces.filling import Columns, Mask, Numbers
from regatta.models.kernel_traces.model import Kind, Sleep
from regatta.models.kernel_traces.perfetto_tracks import Objects, Packets

#: switches, or wakings, of a bundle
BUNDLE = 10_000
#: state of a thread that leaves its CPU, as Linux numbers it in sched_switch: R, S, D, X
RUNNABLE = 0
STATES = {Sleep.INTERRUPTIBLE: 1, Sleep.UNINTERRUPTIBLE: 2, Sleep.ENDED: 16}
#: Event traces have no priorities: this is Linux's default, nice 0.
PRIORITY = 120
#: flag of Linux in the common fields of an event: raised in an interrupt
_IN_INTERRUPT = 0x08
_COLUMNS = ("time_ns", "kind", "cpu", "actor", "value")


class Scheduling:
    """Encoder of scheduling. Its memory is limited by the number of CPUs, not by that of the events."""

    def __init__(self, packets: Packets, objects: Objects) -> None:
        """Write bundles to `packets`, with the threads of `objects`."""
        self._packets = packets
        self._tid = objects.tid
        self._names, name = np.unique(np.array([*objects.names, ""], dtype=object), return_inverse=True)
        self._name = name.astype(np.int64)
        self._thread = np.array([kind in ("thread", "idle") for kind in objects.kinds] + [False])
        self._switches = _Bundles(self._write_switches)
        self._wakings = _Bundles(self._write_wakings)
        self._states = np.zeros(256, dtype=np.int64)
        for sleep, state in STATES.items():
            self._states[sleep] = state
        #: the last event of each CPU, whose other half may follow
        self._rest: Columns = {name: np.zeros(0, dtype=np.int64) for name in _COLUMNS}

    def add(self, events: Columns) -> None:
        """Add events, which follow those of the last call."""
        kind, known = events["kind"], events["cpu"] >= 0
        chosen = known & (kind >= Kind.RESUME) & (kind <= Kind.SLEEP)
        self._add_switches({name: events[name][chosen] for name in _COLUMNS}, last=False)
        self._add_wakings(events, known & (kind == Kind.WAKE) & (events["actor"] >= 0))

    def finish(self) -> None:
        """Write what is left."""
        self._add_switches({name: np.zeros(0, dtype=np.int64) for name in _COLUMNS}, last=True)
        self._switches.write(1)
        self._wakings.write(1)

    def _add_switches(self, events: Columns, last: bool) -> None:
        columns = {name: np.concatenate([self._rest[name], events[name]]) for name in _COLUMNS}
        order = np.argsort(columns["cpu"].astype(np.int16), kind="stable")
        time, kind, cpu, actor, value = (columns[name][order] for name in _COLUMNS)
        enters = kind == Kind.RESUME
        first = first_halves(time, cpu, actor, enters)
        second = np.append(False, first[:-1]) if len(first) else first
        waits = np.append(cpu[1:] != cpu[:-1], True)[: len(cpu)] & ~second & (not last)
        self._rest = {name: columns[name][order][waits] for name in _COLUMNS}
        row = np.flatnonzero(~second & ~waits)
        other = row + first[row]
        # A thread leaves without a successor: the CPU is idle. A thread enters without a predecessor: events
        # were lost.
        entering = np.where(enters[row], actor[row], np.where(enters[other], actor[other], -1))
        leaving = np.where(enters[row], other, row)
        sleeps = kind[leaving] == Kind.SLEEP
        state = np.where(sleeps, self._states[np.clip(value[leaving], 0, 255)], RUNNABLE)
        self._switches.add(cpu[row], np.stack([time[row], state, entering]))

    def _add_wakings(self, events: Columns, chosen: Mask) -> None:
        time, cpu, actor, peer = (events[name][chosen] for name in ("time_ns", "cpu", "actor", "peer"))
        order = np.argsort(cpu.astype(np.int16), kind="stable")
        interrupt = (peer >= 0) & ~self._thread[peer]
        self._wakings.add(cpu[order], np.stack([time, actor, interrupt])[:, order])

    def _write_switches(self, cpu: int, rows: Numbers) -> None:
        time, state, actor = rows
        compact, names = self._bundle(cpu, actor)
        compact.switch_timestamp.extend(np.diff(time, prepend=0).tolist())
        compact.switch_prev_state.extend(state.tolist())
        compact.switch_next_pid.extend(self._tid[actor].tolist())
        compact.switch_next_prio.extend([PRIORITY] * len(time))
        compact.switch_next_comm_index.extend(names)
        self._packets.write()

    def _write_wakings(self, cpu: int, rows: Numbers) -> None:
        time, actor, interrupt = rows
        compact, names = self._bundle(cpu, actor)
        compact.waking_timestamp.extend(np.diff(time, prepend=0).tolist())
        compact.waking_pid.extend(self._tid[actor].tolist())
        compact.waking_target_cpu.extend([cpu] * len(time))
        compact.waking_prio.extend([PRIORITY] * len(time))
        compact.waking_common_flags.extend((interrupt * _IN_INTERRUPT).tolist())
        compact.waking_comm_index.extend(names)
        self._packets.write()

    def _bundle(self, cpu: int, actor: Numbers) -> tuple[Any, list[int]]:
        """Return a new bundle with the names of threads, and the index of the name of each row."""
        bundle = self._packets.add().ftrace_events
        bundle.cpu = cpu
        names, index = np.unique(self._name[actor], return_inverse=True)
        bundle.compact_sched.intern_table.extend(self._names[names].tolist())
        return bundle.compact_sched, index.tolist()


def first_halves(time: Numbers, cpu: Numbers, actor: Numbers, enters: Mask) -> Mask:
    """Return which events form a switch with the next one: one thread leaves a CPU as another enters it.

    Args:
        time: shape (n,), in ns.
        cpu: shape (n,), sorted; the events of a CPU are in the order of the trace.
        actor: shape (n,), the threads.
        enters: shape (n,), whether the thread enters the CPU.

    Returns:
        Shape (n,). Several switches of a CPU at one time are separated from the first on.
    """
    joined = np.zeros(len(time), dtype=np.bool_)
    joined[:-1] = (
        (cpu[1:] == cpu[:-1])
        & (time[1:] == time[:-1])
        & (enters[1:] != enters[:-1])
        & (~enters[:-1] | (actor[1:] != actor[:-1]))
    )
    position = np.arange(len(time))
    begins = joined.copy()
    begins[1:] &= ~joined[:-1]
    first: Mask = joined & ((position - np.maximum.accumulate(np.where(begins, position, 0))) % 2 == 0)
    return first


class _Bundles:
    """Rows of each CPU that wait until they fill a bundle, which `write_bundle` then writes."""

    def __init__(self, write_bundle: Callable[[int, Numbers], None]) -> None:
        self._write_bundle = write_bundle
        self._parts: dict[int, list[Numbers]] = {}

    def add(self, cpu: Numbers, rows: Numbers) -> None:
        """Add columns `rows`, sorted by `cpu`."""
        begins = np.flatnonzero(np.diff(cpu, prepend=-1))
        for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(cpu)], strict=False):
            self._parts.setdefault(int(cpu[begin]), []).append(rows[:, begin:end].copy())
        self.write(BUNDLE)

    def write(self, least: int) -> None:
        """Remove and write blocks of `least` to BUNDLE rows of a CPU."""
        for cpu, parts in self._parts.items():
            count = sum(part.shape[1] for part in parts)
            if count < least:
                continue
            rows = np.concatenate(parts, axis=1)
            begin = 0
            while count - begin >= least:
                self._write_bundle(cpu, rows[:, begin : begin + BUNDLE])
                begin = min(begin + BUNDLE, count)
            parts[:] = [rows[:, begin:].copy()]
