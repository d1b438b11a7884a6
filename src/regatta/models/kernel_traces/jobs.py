"""Which transaction each thread works for, and how objects are used: ten steps of the paper's section 3.3.1.

The steps keep a set W of processes that work for a transaction and a set E of requests that are not finished.
Here one pass over the interactions does it for all transactions: the stack of a thread has the transactions
it works for, innermost last. A request remembers the transaction of its requester, so that a use that begins
or ends after the transaction still counts for it. A process that is asked works for the transaction from its
accept on, not from the request, because it may still work for others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regatta.models.kernel_traces.filling import Numbers
from regatta.models.kernel_traces.intervals import union_ns
from regatta.models.kernel_traces.model import NONE, Kind

#: kinds of objects whose interactions decide who works for a transaction
WORKING = ("transaction", "process", "thread")
#: and those that are used
USED = ("lock", "disk", "network", "client")
#: as plain numbers, which are compared faster: the pass sees millions of rows
_REQUEST, _ACCEPT, _FINISH, _WAIT = (
    int(kind) for kind in (Kind.REQUEST, Kind.ACCEPT, Kind.FINISH, Kind.WAIT)
)


@dataclass(slots=True)
class Transaction:
    """One request from outside."""

    object: int
    request: int
    #: thread that accepted it
    actor: int
    accept_ns: int
    #: None: not in the trace
    request_ns: int | None = None
    finish_ns: int | None = None

    @property
    def begin_ns(self) -> int:
        """Time of the request, or of the accept if the trace has no request."""
        return self.accept_ns if self.request_ns is None else self.request_ns

    @property
    def response_ns(self) -> int | None:
        """Time from `begin_ns` to the finish; None: not finished in the trace."""
        return None if self.finish_ns is None else self.finish_ns - self.begin_ns


@dataclass(slots=True)
class Use:
    """One use of an object by a thread, for a transaction or for none."""

    object: int
    actor: int
    transaction: int
    request_ns: int
    accept_ns: int | None = None
    finish_ns: int | None = None
    value: int = 0


@dataclass
class Jobs:
    """What the pass finds. `changes` has for each thread the rows at which its transaction changes."""

    transactions: list[Transaction] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    #: thread -> rows and the index of the transaction from there on
    changes: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)
    #: finishes and accepts of what was never requested or accepted in the trace, such as before its begin
    unmatched: int = 0

    @property
    def finished(self) -> list[Transaction]:
        """The transactions that finished in the trace."""
        return [one for one in self.transactions if one.finish_ns is not None]

    @property
    def servers(self) -> set[int]:
        """The threads that accepted a transaction."""
        return {one.actor for one in self.transactions}

    def used_ns(self, kinds: Sequence[str], end_ns: int) -> Numbers:
        """Return the time in ns in which each object is in use by at least one thread, shape (objects,).

        Args:
            kinds: kind of each object. Locks that are not returned in the trace are not in use.
            end_ns: end of the other uses without a finish.
        """
        spans = [
            (use.object, use.accept_ns, end_ns if use.finish_ns is None else use.finish_ns)
            for use in self.uses
            if use.accept_ns is not None and (use.finish_ns is not None or kinds[use.object] != "lock")
        ]
        target, begin, end = np.array(spans, np.int64).reshape(-1, 3).T
        return union_ns(target, begin, end, len(kinds))


def find_jobs(rows: Iterator[tuple[int, int, int, int, int, int, int]], kinds: list[str]) -> Jobs:
    """Follow the interactions of a trace.

    Args:
        rows: in order of time: number of the row, time in ns, kind, actor, object, request, value; only
            objects of `WORKING` and `USED`.
        kinds: kind of each object.
    """
    jobs = _Pass(kinds)
    for row in rows:
        jobs.see(*row)
    return jobs.found


class _Pass:
    def __init__(self, kinds: list[str]) -> None:
        self.found = Jobs()
        self._kinds = kinds
        #: thread -> transactions it works for
        self._stacks: dict[int, list[int]] = {}
        #: transaction -> threads that accepted it
        self._holders: dict[int, set[int]] = {}
        #: transaction object and number -> index of the open transaction
        self._open: dict[tuple[int, int], int] = {}
        #: the same -> time of the request
        self._requested: dict[tuple[int, int], int] = {}
        #: asked process and number -> transaction of the requester, and threads that accepted
        self._asked: dict[tuple[int, int], tuple[int, set[int]]] = {}
        self._uses: dict[tuple[int, int], Use] = {}

    def see(
        self, row: int, time_ns: int, kind: int, actor: int, target: int, request: int, value: int
    ) -> None:
        what = self._kinds[target]
        if what == "transaction":
            self._transaction(row, time_ns, kind, actor, (target, request))
        elif what in WORKING:
            self._work(row, kind, actor, (target, request))
        else:
            self._use(time_ns, kind, actor, (target, request), value)

    def _current(self, actor: int) -> int:
        stack = self._stacks.get(actor)
        return stack[-1] if stack else NONE

    def _change(self, row: int, actor: int) -> None:
        rows, values = self.found.changes.setdefault(actor, ([], []))
        rows.append(row)
        values.append(self._current(actor))

    def _leave(self, row: int, actor: int, at: int) -> None:
        self._stacks[actor].remove(at)
        self._change(row, actor)

    def _transaction(self, row: int, time_ns: int, kind: int, actor: int, key: tuple[int, int]) -> None:
        stack = self._stacks.setdefault(actor, [])
        if kind == _REQUEST:
            self._requested[key] = time_ns
            return
        if kind == _ACCEPT:
            at = self._open.get(key)
            if at is None:
                at = self._open[key] = len(self.found.transactions)
                self.found.transactions.append(
                    Transaction(key[0], key[1], actor, time_ns, self._requested.pop(key, None))
                )
            holders = self._holders.setdefault(at, set())
            if actor in holders:
                stack.remove(at)
            holders.add(actor)
            stack.append(at)
            self._change(row, actor)
        elif key not in self._open:
            self.found.unmatched += 1
        elif kind == _FINISH:
            at = self._open.pop(key)
            self.found.transactions[at].finish_ns = time_ns
            for holder in self._holders.pop(at):
                self._leave(row, holder, at)
        elif actor in self._holders[self._open[key]]:
            self._holders[self._open[key]].remove(actor)
            self._leave(row, actor, self._open[key])

    def _work(self, row: int, kind: int, actor: int, key: tuple[int, int]) -> None:
        stack = self._stacks.setdefault(actor, [])
        if kind == _REQUEST:
            self._asked[key] = (self._current(actor), set())
        elif kind == _ACCEPT and key in self._asked:
            at, workers = self._asked[key]
            if actor not in workers:
                workers.add(actor)
                stack.append(at)
                self._change(row, actor)
        elif kind == _FINISH and key in self._asked:
            at, workers = self._asked.pop(key)
            for worker in workers:
                self._leave(row, worker, at)
        elif kind != _WAIT:
            self.found.unmatched += 1

    def _use(self, time_ns: int, kind: int, actor: int, key: tuple[int, int], value: int) -> None:
        use = self._uses.get(key)
        if (
            kind == _REQUEST
            and use is not None
            and use.actor == actor
            and use.accept_ns is None
            and self._kinds[key[0]] == "lock"
        ):
            # A thread first spins for a mutex and then sleeps: the kernel reports both.
            return
        if kind == _REQUEST or (kind == _ACCEPT and use is None):
            use = self._uses[key] = Use(key[0], actor, self._current(actor), time_ns, value=value)
            self.found.uses.append(use)
        if kind == _ACCEPT and use is not None:
            use.accept_ns = time_ns
        elif kind == _FINISH:
            if use is None or use.accept_ns is None:
                self.found.unmatched += 1
            else:
                use.finish_ns = time_ns
            self._uses.pop(key, None)


def transaction_of(jobs: Jobs, actors: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the transaction that a thread works for after each row.

    Args:
        jobs: of the trace.
        actors: thread of each row, in groups.
        rows: number of each row, rising within a thread.
    """
    found = np.full(len(rows), NONE, np.int64)
    cuts = np.flatnonzero(np.diff(actors, prepend=actors[:1] - 1)) if len(actors) else np.empty(0, np.int64)
    for begin, end in zip(cuts, [*cuts[1:], len(actors)], strict=True):
        changes = jobs.changes.get(int(actors[begin]))
        if changes is not None:
            places = np.searchsorted(np.array(changes[0]), rows[begin:end], side="right") - 1
            found[begin:end] = np.where(places < 0, NONE, np.array(changes[1])[places])
    return found
