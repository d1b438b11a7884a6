"""The critical path of transactions: which thread or device each part of a response time was spent on."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from regatta.host.errors import RegattaError
from regatta.models.kernel_traces.filling import Numbers, sums_by
from regatta.models.kernel_traces.intervals import Intervals, Tiles
from regatta.models.kernel_traces.jobs import Transaction
from regatta.models.kernel_traces.model import NONE
from regatta.models.kernel_traces.segments import Segments
from regatta.models.kernel_traces.timeline import State
from regatta.models.kernel_traces.waiting import DEPTH, Waits

#: stretches of paths that are cut into pieces at once
_CHUNK = 1 << 18


@dataclass(frozen=True)
class PathPiece:
    """A part of a critical path. Objects are indices, or NONE."""

    begin_ns: int
    end_ns: int
    #: thread that the path follows
    thread: int
    state: State
    #: RUNNING states: as in the timeline. READY: the thread that had the CPU. ASLEEP: the device, lock or
    #: other cause
    object: int
    #: of `thread`
    phase: int
    #: lock because of which the path is not on the thread that works for the transaction; the innermost one
    lock: int


class PathPart(NamedTuple):
    """What pieces of paths have in common. Empty: nothing of the kind."""

    state: State
    #: of the object; READY: "cpu"
    kind: str
    name: str
    phase: str
    lock: str


@dataclass(frozen=True)
class MeanPath:
    """The mean critical path of all transactions that finished."""

    transactions: int
    #: sum of the parts
    response_ns: float
    #: ns per transaction, by falling time
    parts: Mapping[PathPart, float]


class _Frame(NamedTuple):
    """A wait that the path left to follow its cause; it comes back at `limit_ns` at the latest."""

    waiter: int
    limit_ns: int
    lock: int
    #: whether the cause is a thread that the waiter may have woken for this
    asked: bool


class CriticalPaths:
    """Critical paths of a trace.

    The path goes backwards from the finish, on the thread that accepted the transaction. Where that thread
    was asleep until another thread woke it, the path continues on the other thread from the wake-up
    backwards; a wait for a lock continues on the lock's owner, if known. It returns to the waiter at the
    begin of the wait, or, if the waiter itself had woken the other thread before, at that wake-up. Other
    waits stay on the path: those for a CPU and for devices, and waits of which the cause is unknown or waits
    itself for the waiter.
    """

    def __init__(self, segments: Segments, waits: Waits) -> None:
        """Prepare to search.

        Args:
            segments: of the trace.
            waits: `find_waits` of the segments.
        """
        self._segments = segments
        self._timeline = Intervals(segments.actor, segments.begin_ns, segments.end_ns)
        self._stints, self._runners = segments.stints()
        asleep = _with_births(waits.chosen(waits.state == State.ASLEEP), segments)
        is_thread = np.append(segments.is_kind("thread", "process"), False)
        followed = is_thread[np.minimum(asleep.target, waits.objects + 1)]
        # Views give plain numbers, much faster than arrays.
        self._begin: memoryview = asleep.begin_ns.data
        self._end: memoryview = asleep.end_ns.data
        self._lock: memoryview = asleep.lock.data
        self._target: memoryview = np.where(followed, asleep.target, NONE).data
        bounds = np.searchsorted(asleep.thread, np.arange(len(segments.kinds) + 1))
        self._bounds: list[int] = bounds.tolist()

    def of(self, transaction: int) -> list[PathPiece]:
        """Return the critical path of one transaction; its pieces tile the time from request to finish.

        Without a request in the trace, it begins at the accept.

        Args:
            transaction: index in `jobs.transactions`.

        Raises:
            RegattaError: there is no such transaction, or it has not finished.
        """
        all_ones = self._segments.jobs.transactions
        if not 0 <= transaction < len(all_ones) or all_ones[transaction].finish_ns is None:
            got = f"{len(all_ones)} transactions"
            raise RegattaError(
                f"transaction {transaction}", "a finished transaction", got, "choose another one"
            )
        stretches = array("q")
        self._walk(all_ones[transaction], stretches)
        pieces = self._pieces(np.frombuffer(stretches, np.int64).reshape(-1, 4)[::-1])
        return [
            PathPiece(begin, end, thread, State(state), target, phase, lock)
            for begin, end, thread, state, target, phase, lock in zip(
                *(column.tolist() for column in pieces), strict=True
            )
        ]

    def mean(self, most: int | None = None) -> MeanPath:
        """Return the mean path of the transactions that finished.

        A step from one wait to another takes some 4 us.

        Args:
            most: >= 1, number of transactions that are followed if there are more, at equal distances; None:
                all.

        Raises:
            RegattaError: no transaction has finished, or `most` is out of its range.
        """
        if most is not None and most < 1:
            raise RegattaError("most", "a number >= 1", str(most), "leave it out")
        done = self._segments.jobs.finished
        if not done:
            raise RegattaError(
                "critical path", "finished transactions", "none", "mark where requests begin and end"
            )
        if most is not None and most < len(done):
            done = [done[at * len(done) // most] for at in range(most)]
        found: dict[tuple[int, ...], int] = {}
        stretches = array("q")
        for at, one in enumerate(done, 1):
            self._walk(one, stretches)
            if len(stretches) >= 4 * _CHUNK or at == len(done):
                self._count(np.frombuffer(stretches, np.int64).reshape(-1, 4), found)
                stretches = array("q")
        parts: dict[PathPart, float] = {}
        for key, ns in found.items():
            part = self._part(*key)
            parts[part] = parts.get(part, 0.0) + ns / len(done)
        ordered = dict(sorted(parts.items(), key=lambda item: -item[1]))
        return MeanPath(len(done), sum(found.values()) / len(done), ordered)

    def _walk(self, transaction: Transaction, stretches: array[int]) -> None:
        """Append the times in which a path follows one thread, last one first: thread, begin, end, lock."""
        assert transaction.finish_ns is not None
        start = transaction.begin_ns
        thread, time, lock = transaction.actor, transaction.finish_ns, NONE
        limit, frames = start, list[_Frame]()
        bounds, begins, ends, causes, locks = self._bounds, self._begin, self._end, self._target, self._lock
        while time > start:
            low = bounds[thread]
            at = bisect_left(begins, time, low, bounds[thread + 1]) - 1
            if at >= low and ends[at] >= time:
                begin = max(begins[at], limit)
                cause = causes[at]
                if cause != NONE and len(frames) < DEPTH and not _waits(cause, thread, frames):
                    asked = locks[at] == NONE
                    frames.append(_Frame(thread, begin, lock, asked))
                    thread, lock, limit = cause, lock if asked else locks[at], begin
                    continue
            elif at < low:
                begin = limit
            else:
                begin = ends[at]
                if begin <= limit:
                    begin = self._asked_at(at, frames, start) if frames and frames[-1].asked else limit
            stretches.extend((thread, begin, time, lock))
            time = begin
            while frames and time <= frames[-1].limit_ns:
                frame = frames.pop()
                thread, lock = frame.waiter, frame.lock
                limit = frames[-1].limit_ns if frames else start

    def _asked_at(self, at: int, frames: list[_Frame], start: int) -> int:
        """Return where the path leaves a thread that is awake at the limit: where the waiter woke it."""
        limit = frames[-1].limit_ns
        if self._target[at] != frames[-1].waiter:
            return limit
        outer = next((frame.limit_ns for frame in reversed(frames) if frame.limit_ns < limit), start)
        woken: int = self._end[at]
        return max(woken, outer)

    def _pieces(self, stretches: Numbers) -> tuple[Numbers, ...]:
        """Return begin, end, thread, state, object, phase and lock of pieces of stretches, shape (n, 4)."""
        thread, begin, end, lock = stretches.T
        segments = self._segments
        tiles = self._timeline.tiles(thread, begin, end)
        known = tiles.at >= 0
        at = self._timeline.source[np.where(known, tiles.at, 0)]
        # Before its first event, a thread sleeps for an unknown cause.
        state = np.where(known, segments.state[at], int(State.ASLEEP))
        target = np.where(known, segments.object[at], NONE)
        phase = np.where(known, segments.phase[at], NONE)
        cpu = np.where(known, segments.cpu[at], NONE)
        spans, ready = tiles, np.flatnonzero(state == State.READY)
        others = self._stints.tiles(cpu[ready], spans.begin_ns[ready], spans.end_ns[ready])
        runner = np.where(others.at >= 0, self._runners[others.at] if len(self._runners) else NONE, NONE)
        rest = np.flatnonzero(state != State.READY)
        row = np.concatenate((rest, ready[others.span]))
        found = Tiles(
            row,
            np.concatenate((target[rest], runner)),
            np.concatenate((spans.begin_ns[rest], others.begin_ns)),
            np.concatenate((spans.end_ns[rest], others.end_ns)),
        )
        order = np.lexsort((found.begin_ns, row))
        row, target, begin, end = (values[order] for values in found)
        of = spans.span[row]
        columns = (begin, end, thread[of], state[row], target, phase[row], lock[of])
        return tuple(np.asarray(column, np.int64) for column in columns)

    def _count(self, stretches: Numbers, found: dict[tuple[int, ...], int]) -> None:
        """Add the time of stretches by state, object, phase and lock."""
        begin, end, _, state, target, phase, lock = self._pieces(stretches)
        target = np.where(state == State.READY, NONE, target)
        base = len(self._segments.kinds) + 1
        numbers = [state, *(column + 1 for column in (target, phase, lock))]
        # One number of all four would overflow with many objects: number the pairs that exist first.
        left, left_of = np.unique(numbers[0] * base + numbers[1], return_inverse=True)
        right, right_of = np.unique(numbers[2] * base + numbers[3], return_inverse=True)
        pairs, spent, _ = sums_by(left_of * len(right) + right_of, end - begin)
        for pair, ns in zip(pairs.tolist(), spent.tolist(), strict=True):
            one, other = int(left[pair // len(right)]), int(right[pair % len(right)])
            key = (one // base, one % base - 1, other // base - 1, other % base - 1)
            found[key] = found.get(key, 0) + ns

    def _part(self, state: int, target: int, phase: int, lock: int) -> PathPart:
        names = self._segments.names
        if state == State.READY:
            kind, name = "cpu", "cpu"
        else:
            kind, name = (self._segments.kinds[target], names[target]) if target >= 0 else ("", "")
        return PathPart(
            State(state),
            kind,
            name,
            names[phase] if phase >= 0 else "",
            names[lock] if lock >= 0 else "",
        )


def _waits(thread: int, other: int, frames: list[_Frame]) -> bool:
    """Return whether a path that has come to `other` has left a wait of `thread`, or is there."""
    if thread == other:
        return True
    return bool(frames) and any(frame.waiter == thread for frame in frames)


def _with_births(waits: Waits, segments: Segments) -> Waits:
    """Return the waits, and for each new thread one for its creator from the begin of the window on."""
    born = [(thread, ns, creator) for thread, (ns, creator) in segments.births.items() if creator >= 0]
    thread, end, creator = np.array(born, np.int64).reshape(-1, 3).T
    begin = np.minimum(segments.facts.begin_ns, end)
    return Waits.joined(waits.objects, waits.columns, (thread, begin, end, State.ASLEEP, creator, NONE))
