"""Reconstruct processes from a trace: which fork leads to an exec, which calls belong to the loader, which writes are replies.

Memory is bounded: the state of a process is dropped when it ends, that of a connection when it is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from regatta.models.vectors.calls import (
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

#: connections whose turn is kept; beyond, the oldest is dropped and a reply on it counts as a further write
CONNECTIONS = 100_000
#: the same limit for connections that a process has closed: another process may hold a copy and reply soon
CLOSED_CONNECTIONS = 10_000

_FORKED = 1
_LOADING = 2


@dataclass(frozen=True)
class Fork:
    """Details of a fork: the child, whether it is a thread, whether memory is shared (vfork)."""

    child: int
    thread: bool = False
    shares_memory: bool = False


@dataclass(frozen=True)
class Memory:
    """Memory of a process that a fork copies."""

    #: KiB of anonymous pages
    resident_kib: int = 0
    mappings: int = 0


class Counts:
    """Counts of calls that are alike."""

    def __init__(self) -> None:
        self.seen: dict[Seen, tuple[int, int]] = {}

    def add(self, seen: Seen, size: int = 0, count: int = 1) -> None:
        """Add `count` calls. `size` is the sum in bytes (KiB for processes, number of forks for properties of a fork)."""
        before, total = self.seen.get(seen, (0, 0))
        self.seen[seen] = (before + count, total + size)

    def add_process(self, call: str, resident_kib: int = 0) -> None:
        """Add one process creation, which consists of several calls."""
        self.add(Seen(call, size=size_class(resident_kib)), resident_kib)


class Tree:
    """Follows every process of a trace. The first calls of a child can precede the return of its parent's fork."""

    def __init__(self, table: CallTable, counts: Counts, memory_of: Callable[[int], Memory]) -> None:
        self.loader_calls = table.of_loader
        self.counts = counts
        self.memory_of = memory_of
        #: process -> _FORKED or _LOADING; processes that run their program are absent
        self.phases: dict[int, int] = {}
        #: KiB of the forking process, for children without an exec so far
        self.forked: dict[int, int] = {}
        #: processes whose exec or end preceded the return of their parent's fork
        self.early_execs: set[int] = set()
        self.early_ends: set[int] = set()
        self.known: set[int] = set()
        #: connections with input and no write since; and those of which a copy was closed after that
        self.replies: dict[str, None] = {}
        self.closed_replies: dict[str, None] = {}
        #: process -> its descriptors that are connecting, whose connection has no name yet
        self.connecting: dict[int, set[str]] = {}
        self.forgotten = 0

    def begin(self, pid: int) -> None:
        """Add a process that existed before the trace."""
        self.known.add(pid)

    def appears(self, pid: int) -> None:
        """Add a process whose fork has not returned yet."""
        if pid not in self.known:
            self.known.add(pid)
            self.phases[pid] = _FORKED

    def forks(self, parent: int, fork: Fork) -> None:
        """Handle the return of a fork in the parent."""
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
        """Handle the return of an exec."""
        if pid in self.forked:
            self.counts.add_process(FORK_EXEC, self.forked.pop(pid))
        elif self.phases.get(pid) == _FORKED:
            self.early_execs.add(pid)
        else:
            self.counts.add_process(EXEC_ALONE)
        self.phases[pid] = _LOADING

    def ends(self, pid: int) -> None:
        """Handle the end of a process or thread."""
        if pid in self.forked:
            self.counts.add_process(FORK_ALONE, self.forked.pop(pid))
        elif self.phases.get(pid) == _FORKED:
            self.early_ends.add(pid)
        self.phases.pop(pid, None)
        self.known.discard(pid)
        self.connecting.pop(pid, None)

    def phase(self, pid: int, call: str) -> Phase:
        """Return the phase of a call. The loader ends with glibc's munmap of ld.so.cache, or at a call that no loader makes."""
        if self.phases.get(pid) != _LOADING:
            return "program"
        loader = call in self.loader_calls
        if not loader or call == "munmap":
            del self.phases[pid]
        return "loader" if loader else "program"

    def received(self, connection: str) -> None:
        """Record input on a connection: the next write is the reply."""
        self.closed_replies.pop(connection, None)
        self.replies[connection] = None
        if len(self.replies) > CONNECTIONS:
            del self.replies[next(iter(self.replies))]
            self.forgotten += 1

    def turn(self, connection: str) -> Turn:
        """Return whether a write is a reply or a further write."""
        for waiting in (self.replies, self.closed_replies):
            if connection in waiting:
                del waiting[connection]
                return "reply"
        return "further"

    def closed(self, pid: int, descriptor: str, connection: str) -> None:
        """Record that a process closes a connection. Another process may still hold it, such as the parent of a child."""
        self.used(pid, descriptor)
        if connection in self.replies:
            del self.replies[connection]
            self.closed_replies[connection] = None
            if len(self.closed_replies) > CLOSED_CONNECTIONS:
                del self.closed_replies[next(iter(self.closed_replies))]

    def made(self, connection: str) -> None:
        """Record a new connection; drop the state of an older one with the same name."""
        self.replies.pop(connection, None)
        self.closed_replies.pop(connection, None)

    def connects(self, pid: int, descriptor: str) -> None:
        """Record a connecting descriptor. The next call on it shows the name of the connection."""
        self.connecting.setdefault(pid, set()).add(descriptor)

    def used(self, pid: int, descriptor: str) -> bool:
        """Record a call on a descriptor. Return whether it has connected since the previous call on it."""
        fresh = self.connecting.get(pid)
        if not fresh or descriptor not in fresh:
            return False
        fresh.discard(descriptor)
        if not fresh:
            del self.connecting[pid]
        return True

    def finish(self) -> None:
        """End the trace: forks without an exec so far count as forks alone."""
        for resident in self.forked.values():
            self.counts.add_process(FORK_ALONE, resident)
        for _ in self.early_execs:
            self.counts.add_process(FORK_EXEC)
        self.forked.clear()
        self.early_execs.clear()


def kind_of_text(text: str) -> Kind:
    """Return the kind of a descriptor from the text between < and > of `strace -yy`. A named pipe looks like a file."""
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
    # Newer versions of strace print details of a signalfd.
    ("signalfd:", "anonymous"),
    ("eventfd", "anonymous"),
    ("pid:", "anonymous"),
)
