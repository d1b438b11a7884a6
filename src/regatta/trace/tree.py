"""Processes as a trace shows them: which fork led to an exec, which calls are the loader's, whose turn a connection is.

Bounded: what is kept of a process goes when it ends, and of a connection when it is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from regatta.spec.calls import (
    EXEC_ALONE,
    FORK_ALONE,
    FORK_EXEC,
    FORK_MAPPING,
    THREAD,
    CallTable,
    Kind,
    Phase,
    Seen,
    Turn,
    size_class,
)

#: connections whose turn is kept; beyond, the oldest is forgotten and a reply there counts as a further write
CONNECTIONS = 100_000
#: likewise of those that a process has closed: another may hold a copy and reply soon
CLOSED_CONNECTIONS = 10_000

_FORKED = 1
_LOADING = 2


@dataclass(frozen=True)
class Fork:
    """What a fork is about: who was made, whether it is a thread, whether memory is shared (vfork)."""

    child: int
    thread: bool = False
    shares_memory: bool = False


@dataclass(frozen=True)
class Memory:
    """What a process has of memory: what a fork copies."""

    #: KiB of anonymous pages
    resident_kib: int = 0
    mappings: int = 0


class Counts:
    """Calls that are alike, counted."""

    def __init__(self) -> None:
        self.seen: dict[Seen, tuple[int, int]] = {}

    def add(self, seen: Seen, size: int = 0, count: int = 1) -> None:
        """So many more; `size` in bytes of all of them (KiB for processes, forks for what a fork has)."""
        before, total = self.seen.get(seen, (0, 0))
        self.seen[seen] = (before + count, total + size)

    def add_process(self, call: str, resident_kib: int = 0) -> None:
        """One more of what is made of several calls."""
        self.add(Seen(call, size=size_class(resident_kib)), resident_kib)


class Tree:
    """Follows every process of a trace in which a child's first calls may come before its parent's fork returns."""

    def __init__(self, table: CallTable, counts: Counts, memory_of: Callable[[int], Memory]) -> None:
        self.loader_calls = table.of_loader
        self.counts = counts
        self.memory_of = memory_of
        #: process -> _FORKED or _LOADING; those that run their program are not there
        self.phases: dict[int, int] = {}
        #: KiB of the forking process, for those that have not called exec yet
        self.forked: dict[int, int] = {}
        #: did their exec, or ended, before their parent's fork has returned
        self.early_execs: set[int] = set()
        self.early_ends: set[int] = set()
        self.known: set[int] = set()
        #: connections on which something came in and nothing was written since; those of which a copy was closed after that
        self.replies: dict[str, None] = {}
        self.closed_replies: dict[str, None] = {}
        #: process -> its descriptors that connect, whose connection has no name yet
        self.connecting: dict[int, set[str]] = {}
        self.forgotten = 0

    def begin(self, pid: int) -> None:
        """A process that was there before."""
        self.known.add(pid)

    def appears(self, pid: int) -> None:
        """A process nobody has told of yet: its fork is about to return."""
        if pid not in self.known:
            self.known.add(pid)
            self.phases[pid] = _FORKED

    def forks(self, parent: int, fork: Fork) -> None:
        """A fork has returned in the parent."""
        child = fork.child
        if fork.thread:
            self.counts.add_process(THREAD)
            self.phases.pop(child, None)
            if child in self.early_ends:
                self.early_ends.discard(child)
            else:
                self.known.add(child)
            return
        memory = Memory() if fork.shares_memory else self.memory_of(parent)
        if memory.mappings:
            self.counts.add(Seen(FORK_MAPPING), 1, memory.mappings)
        resident = memory.resident_kib
        if child in self.early_execs:
            self.early_execs.discard(child)
            self.counts.add_process(FORK_EXEC, resident)
        elif child in self.early_ends:
            self.early_ends.discard(child)
            self.counts.add_process(FORK_ALONE, resident)
        else:
            self.appears(child)
            self.forked[child] = resident

    def execs(self, pid: int) -> None:
        """An exec has returned."""
        if pid in self.forked:
            self.counts.add_process(FORK_EXEC, self.forked.pop(pid))
        elif self.phases.get(pid) == _FORKED:
            self.early_execs.add(pid)
        else:
            self.counts.add_process(EXEC_ALONE)
        self.phases[pid] = _LOADING

    def ends(self, pid: int) -> None:
        """A process or thread is gone."""
        if pid in self.forked:
            self.counts.add_process(FORK_ALONE, self.forked.pop(pid))
        elif self.phases.get(pid) == _FORKED:
            self.early_ends.add(pid)
        self.phases.pop(pid, None)
        self.known.discard(pid)
        self.connecting.pop(pid, None)

    def phase(self, pid: int, call: str) -> Phase:
        """Whose call it is. The loader ends with glibc's munmap of ld.so.cache, or where a call is not one of a loader."""
        if self.phases.get(pid) != _LOADING:
            return "program"
        loader = call in self.loader_calls
        if not loader or call == "munmap":
            del self.phases[pid]
        return "loader" if loader else "program"

    def received(self, connection: str) -> None:
        """Something came in: the next write is the reply."""
        self.closed_replies.pop(connection, None)
        self.replies[connection] = None
        if len(self.replies) > CONNECTIONS:
            del self.replies[next(iter(self.replies))]
            self.forgotten += 1

    def turn(self, connection: str) -> Turn:
        """Whether a write is the reply, or one more."""
        for waiting in (self.replies, self.closed_replies):
            if connection in waiting:
                del waiting[connection]
                return "reply"
        return "further"

    def closed(self, pid: int, descriptor: str, connection: str) -> None:
        """A process closes a connection. Another one may have it still, as the parent of a child that closes what it inherits."""
        self.used(pid, descriptor)
        if connection in self.replies:
            del self.replies[connection]
            self.closed_replies[connection] = None
            if len(self.closed_replies) > CLOSED_CONNECTIONS:
                del self.closed_replies[next(iter(self.closed_replies))]

    def made(self, connection: str) -> None:
        """A connection is new: what was there before under its name is over."""
        self.replies.pop(connection, None)
        self.closed_replies.pop(connection, None)

    def connects(self, pid: int, descriptor: str) -> None:
        """A connection begins whose name is told by the next call on it."""
        self.connecting.setdefault(pid, set()).add(descriptor)

    def used(self, pid: int, descriptor: str) -> bool:
        """A descriptor is called on: whether it has connected since it was called on before."""
        fresh = self.connecting.get(pid)
        if not fresh or descriptor not in fresh:
            return False
        fresh.discard(descriptor)
        if not fresh:
            del self.connecting[pid]
        return True

    def finish(self) -> None:
        """The trace is over: forks that led to nothing yet are forks alone."""
        for resident in self.forked.values():
            self.counts.add_process(FORK_ALONE, resident)
        for _ in self.early_execs:
            self.counts.add_process(FORK_EXEC)
        self.forked.clear()
        self.early_execs.clear()


def kind_of_text(text: str) -> Kind:
    """The kind of a descriptor as `strace -yy` writes it between < and >. A named pipe looks like a file."""
    for start, kind in _STARTS:
        if text.startswith(start):
            return kind
    if text.startswith("/"):
        return "device" if "<char " in text or "<block " in text else "file"
    return "socket" if "[" in text else "unknown"


_STARTS: tuple[tuple[str, Kind], ...] = (
    ("TCP:", "tcp"),
    ("TCPv6:", "tcp"),
    ("UDP", "udp"),
    ("UNIX-STREAM", "unix"),
    ("pipe:", "fifo"),
    ("anon_inode:", "anonymous"),
    # What newer ones of strace tell of them.
    ("signalfd:", "anonymous"),
    ("eventfd", "anonymous"),
    ("pid:", "anonymous"),
)
