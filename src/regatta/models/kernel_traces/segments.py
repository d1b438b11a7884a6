"""All segments of a trace in compact arrays, for analyses that follow one thread to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regatta.host.files import scratch_folder
from regatta.models.kernel_traces.filling import Mask, Numbers
from regatta.models.kernel_traces.intervals import Intervals
from regatta.models.kernel_traces.jobs import Jobs
from regatta.models.kernel_traces.model import NONE, Facts, Kind, Trace
from regatta.models.kernel_traces.timeline import BATCH, RUNNING, Batch, State, Timeline

#: column -> type, 31 bytes in all
_COLUMNS: dict[str, type[np.signedinteger[Any]]] = {
    "actor": np.int32, "begin_ns": np.int64, "end_ns": np.int64, "state": np.int8, "object": np.int32,
    "phase": np.int32, "cpu": np.int16,
}  # fmt: skip


@dataclass(frozen=True)
class Segments:
    """The segments of all threads, by thread and time. Arrays of shape (n,).

    Neighbours that differ in nothing are one segment. A READY segment has the CPU on which the thread runs
    next; a thread that a disk's interrupt woke has slept for the disk of its last finished request, if the
    trace has one.
    """

    actor: NDArray[np.int32]
    begin_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    #: a `State`
    state: NDArray[np.int8]
    object: NDArray[np.int32]
    phase: NDArray[np.int32]
    cpu: NDArray[np.int16]
    facts: Facts
    jobs: Jobs
    #: of each object
    kinds: Sequence[str]
    names: Sequence[str]
    parents: Sequence[int]
    #: new thread -> its first event, and its creator
    births: dict[int, tuple[int, int]]

    def __len__(self) -> int:
        return len(self.actor)

    @property
    def window_ns(self) -> int:
        """Length of the window in ns."""
        return self.facts.end_ns - self.facts.begin_ns

    @property
    def duration_ns(self) -> Numbers:
        """Length of each segment in ns."""
        return self.end_ns - self.begin_ns

    @property
    def running(self) -> Mask:
        """Segments on a CPU, without those of idle CPUs."""
        return np.isin(self.state, RUNNING)

    def is_kind(self, *kinds: str) -> Mask:
        """Return which objects are of some kinds; last, False for NONE. Shape (objects + 1,)."""
        return np.array([*(kind in kinds for kind in self.kinds), False])

    def stints(self) -> tuple[Intervals, Numbers]:
        """Return the times of threads on CPUs, grouped by the CPU's number, and the thread of each.

        Idle threads are threads.
        """
        on = np.flatnonzero((self.running | (self.state == State.IDLE)) & (self.cpu >= 0))
        if not len(on):
            nothing = np.empty(0, np.int64)
            return Intervals(nothing, nothing, nothing), nothing
        actor, cpu, begin, end = self.actor[on], self.cpu[on], self.begin_ns[on], self.end_ns[on]
        new = np.ones(len(on), bool)
        new[1:] = (actor[1:] != actor[:-1]) | (cpu[1:] != cpu[:-1]) | (begin[1:] != end[:-1])
        cuts = np.flatnonzero(new)
        found = Intervals(cpu[cuts], begin[cuts], end[np.append(cuts[1:], len(on)) - 1])
        return found, actor[cuts][found.source].astype(np.int64)


def load_segments(trace: Trace, batch: int = BATCH) -> Segments:
    """Read the segments of a trace, some 31 bytes per segment.

    Args:
        trace: with scheduling events.
        batch: rows at once; the result does not depend on it.
    """
    pieces: dict[str, list[NDArray[Any]]] = {name: [] for name in _COLUMNS}
    births: dict[int, tuple[int, int]] = {}
    with scratch_folder("regatta-events-") as scratch:
        timeline = Timeline(trace, scratch, batch)
        seen = NONE
        for one in timeline.batches():
            seen = _add(one, pieces, births, seen)
    columns = {
        name: np.concatenate([*pieces.pop(name), np.empty(0, kind)]) for name, kind in _COLUMNS.items()
    }
    found = Segments(
        **columns, facts=trace.facts, jobs=timeline.jobs, kinds=timeline.kinds, names=timeline.names,
        parents=timeline.parents, births=births,
    )  # fmt: skip
    _place_ready(found)
    _name_disks(found)
    return found


def _add(
    one: Batch, pieces: dict[str, list[NDArray[Any]]], births: dict[int, tuple[int, int]], seen: int
) -> int:
    """Add the segments of a batch in order of time; return its last thread. `seen`: the last one before."""
    if not len(one):
        return seen
    # Within a thread, the segment before the first event comes last in a batch.
    order = np.lexsort((one.end_ns, one.begin_ns, one.actor))
    columns = {name: getattr(one, name)[order] for name in _COLUMNS}
    actor, begin, end = columns["actor"], columns["begin_ns"], columns["end_ns"]
    first = np.diff(actor, prepend=seen) != 0
    for at in np.flatnonzero(first & (one.kind[order] == Kind.WAKE)):
        births[int(actor[at])] = (int(begin[at]), int(one.event_object[order[at]]))
    kept = np.flatnonzero(end > begin)
    if len(kept):
        columns = {name: values[kept] for name, values in columns.items()}
        new = np.ones(len(kept), bool)
        new[1:] = columns["begin_ns"][1:] != columns["end_ns"][:-1]
        for name in ("actor", "state", "object", "phase", "cpu"):
            new[1:] |= columns[name][1:] != columns[name][:-1]
        cuts = np.flatnonzero(new)
        ends = columns["end_ns"][np.append(cuts[1:], len(kept)) - 1]
        for name, kind in _COLUMNS.items():
            pieces[name].append((ends if name == "end_ns" else columns[name][cuts]).astype(kind))
    return int(actor[-1])


def _place_ready(found: Segments) -> None:
    """Let threads that wait for a CPU have the one that they get."""
    ready = np.flatnonzero(found.state[:-1] == State.READY)
    ready = ready[(found.actor[ready + 1] == found.actor[ready]) & found.running[ready + 1]]
    found.cpu[ready] = found.cpu[ready + 1]


def _name_disks(found: Segments) -> None:
    """Replace interrupts of disks that woke a thread by the disk of its last request finished by then."""
    disk = found.is_kind("disk")
    uses = [
        (use.actor, use.finish_ns, use.object)
        for use in found.jobs.uses
        if use.finish_ns is not None and disk[use.object]
    ]
    slept = np.flatnonzero((found.state == State.ASLEEP) & disk[found.object])
    if not uses or not len(slept):
        return
    actor, finish, target = np.array(uses, np.int64).T
    order = np.lexsort((finish, actor))
    actor, finish, target = actor[order], finish[order], target[order]
    # A request lasts, for this search, from its end to the end of the next one.
    last = np.append(actor[1:] != actor[:-1], True)
    until = np.where(last, found.facts.end_ns + 2, np.append(finish[1:], 0))
    until = np.maximum(until, finish + 1)
    latest = Intervals(actor, finish, until)
    end = found.end_ns[slept]
    at, after = latest.within(found.actor[slept], end, end + 1)
    has = (after > at) & (at < len(latest))
    at = np.minimum(at, len(latest) - 1)
    has &= latest.begin_ns[at] >= found.begin_ns[slept]
    found.object[slept[has]] = target[latest.source[at]][has]
