"""Parse the output of `strace -f -yy` line by line. Memory is bounded by the concurrent processes and connections."""

from __future__ import annotations

import re
from collections.abc import Callable

from regatta.models.page_cache.strace_grammar import DETACHED, MAX_LINE, UNFINISHED, number_of, result_of
from regatta.models.system_calls.tree import Counts, Fork, Memory, Tree, kind_of_text
from regatta.models.vectors.calls import (
    ACCEPT_CALLS,
    EXEC_CALLS,
    FORK_CALLS,
    CallTable,
    Ending,
    Kind,
    Seen,
    Tally,
    Turn,
    size_class,
)

#: limit of unfinished calls; a kernel has at most about four million processes
MAX_UNFINISHED = 1 << 22

#: of the numbers of processes; longer ones are damage
_PID = r"(\d{1,10})"
_BEGIN = re.compile(_PID + r" +([a-z_][a-z0-9_]*)\(")
_RESUMED = re.compile(_PID + r" +<\.\.\. ([a-z_][a-z0-9_]*) resumed>")
#: calls that, like a fork with that flag, put children into another PID namespace
_NAMESPACE_CALLS = frozenset({"unshare", "setns"})
_LAST_CALLS = frozenset({"exit", "exit_group"})
#: a result at the start of the rest of a line
_WORD = re.compile(r"[-0-9a-fx?]*")
_FIRST = re.compile(r"(-?\d+)(?:<((?:[^<>]|<(?:char|block) [^>]*>|(?<=-)>)*)>)?")
_MAP = re.compile(r"[^,]*, (\d{1,20}), [^,]*, [^,]*, (-?\d{1,10})(?:<([^<>]*(?:<[^>]*>)?))?")
_SIGNAL = re.compile(r"\d+ +--- ")
_END = re.compile(_PID + r" +\+\+\+ (?:exited with|killed by) ")
_SUPERSEDED = re.compile(_PID + r" +\+\+\+ superseded by execve in pid " + _PID + " ")
_OTHER_MODE = re.compile(r".*\[ Process PID=\d+ runs in ")


class StraceReader:
    """Counts the calls in the lines of strace.

    Args:
        table: rules that determine which calls need descriptors and bytes.
        memory_of: process -> its current memory, empty if it has exited.
        roots: processes that existed before the trace.
        gate: a process whose calls count only after its first exec: it waits until the trace has begun.
    """

    def __init__(
        self,
        table: CallTable,
        memory_of: Callable[[int], Memory],
        roots: tuple[int, ...] = (),
        gate: int | None = None,
    ) -> None:
        self.counts = Counts()
        self.tree = Tree(table, self.counts, memory_of)
        self.by_kind = table.told_by_kind
        self.sized = table.sized
        self.beginning = table.beginning_turns
        self.taking = table.taking_turns
        self.gate = gate
        for pid in roots:
            self.tree.begin(pid)
        #: process -> the start of its call
        self.unfinished: dict[int, str] = {}
        #: processes and threads with at least one call
        self.heard: set[int] = set()
        self.damaged = 0
        self.example = ""
        self.other_mode = 0
        self.namespaces = 0

    def read(self, line: str) -> None:
        """Count one line."""
        if len(line) > MAX_LINE:
            self.damage(line)
        elif begin := _BEGIN.match(line):
            self.begins(int(begin[1]), begin[2], line, begin.end())
        elif resumed := _RESUMED.match(line):
            self.resumes(int(resumed[1]), resumed[2], line[resumed.end() :])
        elif end := _END.match(line):
            self.unfinished.pop(int(end[1]), None)
            self.heard.discard(int(end[1]))
            self.tree.ends(int(end[1]))
        elif taken := _SUPERSEDED.match(line):
            # The exec of a thread continues under the number of the process.
            self.unfinished.pop(int(taken[1]), None)
            if begun := self.unfinished.pop(int(taken[2]), None):
                self.unfinished[int(taken[1])] = begun
        elif _OTHER_MODE.match(line):
            self.other_mode += 1
        elif not _SIGNAL.match(line) and line.strip():
            self.damage(line)

    def damage(self, line: str) -> None:
        """Record a line that strace does not write."""
        self.damaged += 1
        self.example = self.example or line[:80]

    def begins(self, pid: int, call: str, line: str, start: int) -> None:
        """Handle a call, complete or unfinished."""
        self.heard.add(pid)
        if line.rstrip("\n").endswith(DETACHED):
            # The trace ended during the call.
            return
        if line.rstrip("\n").endswith(UNFINISHED):
            if pid in self.unfinished or len(self.unfinished) >= MAX_UNFINISHED:
                self.damage(line)
                return
            self.unfinished[pid] = line.rstrip("\n")[: -len(UNFINISHED)]
            if pid != self.gate:
                self.tree.appears(pid)
            if call in _LAST_CALLS:
                self.call(pid, call, "", "?")
                del self.unfinished[pid]
            return
        result = result_of(line)
        if result is None:
            self.damage(line)
            return
        self.call(pid, call, line[start : result.start()], line[result.start(1) :])

    def resumes(self, pid: int, call: str, rest: str) -> None:
        """Handle the end of a call."""
        if call in _LAST_CALLS:
            return
        first = self.unfinished.pop(pid, None)
        begin = None if first is None else _BEGIN.match(first)
        if first is None or begin is None or begin[2] != call:
            # Calls in progress at the start of the trace have no recorded start; their end is not damage.
            if first is not None or pid in self.heard:
                self.damage(rest)
            self.heard.add(pid)
            return
        whole = first + rest
        result = result_of(whole)
        if result is None:
            self.damage(whole)
            return
        self.call(pid, call, whole[begin.end() : result.start()], whole[result.start(1) :])

    def call(self, pid: int, call: str, arguments: str, ended: str) -> None:
        """Count a call. `ended` is its result with strace's explanation."""
        result = _WORD.match(ended)[0]  # type: ignore[index]
        if call == "connect" and ended.startswith("-1 EINPROGRESS"):
            # The connection is being established.
            result = "0"
        done = result != "?" and not result.startswith("-")
        if pid == self.gate:
            if done and call in EXEC_CALLS:
                self.gate = None
                self.tree.begin(pid)
                self.tree.forked[pid] = 0
                self.tree.execs(pid)
            return
        self.tree.appears(pid)
        if call in EXEC_CALLS and done:
            self.tree.execs(pid)
            return
        if done and (call in FORK_CALLS or call in _NAMESPACE_CALLS) and "CLONE_NEWPID" in arguments:
            self.namespaces += 1
        phase = self.tree.phase(pid, call)
        if call in FORK_CALLS and done:
            self.forks(pid, call, arguments, result)
            return
        if result == "?" and call not in _LAST_CALLS:
            # Killed during the call, or restarted after a signal (strace then shows it again).
            return
        value = number_of(result) if done else -1
        ending: Ending = "failed" if not done and result != "?" else "some" if value > 0 else "zero"
        kind: Kind = "none"
        if call in self.by_kind:
            kind, size = self.descriptor(call, arguments, value)
        else:
            size = value
        size = min(max(size, 0), 1 << 31) if call in self.sized and ending == "some" else 0
        turn = self.turn(pid, call, arguments, ended, ending) if kind == "tcp" else "none"
        self.counts.add(Seen(call, kind, ending, turn, phase, size_class(size)), size)

    def descriptor(self, call: str, arguments: str, value: int) -> tuple[Kind, int]:
        """Return the kind of the descriptor of a call, and the number of bytes."""
        if call == "mmap":
            found = _MAP.match(arguments)
            if not found:
                return "unknown", 0
            if int(found[2]) < 0:
                return "memory", int(found[1])
            return kind_of_text(found[3] or ""), int(found[1])
        first = _FIRST.match(arguments)
        return ("none" if not first else kind_of_text(first[2] or "")), value

    def turn(self, pid: int, call: str, arguments: str, ended: str, ending: Ending) -> Turn:
        """Return whether a write on a connection is a reply. A read on it makes the next write a reply."""
        first = _FIRST.match(arguments)
        if not first:
            return "none"
        descriptor, connection = first[1], first[2] or ""
        if call in ACCEPT_CALLS:
            made = _FIRST.match(ended)
            if made and made[2]:
                self.tree.made(made[2])
        elif call == "connect":
            self.tree.connects(pid, descriptor)
        elif call == "close":
            self.tree.closed(pid, descriptor, connection)
        elif ending == "some" and (call in self.beginning or call in self.taking):
            if self.tree.used(pid, descriptor):
                self.tree.made(connection)
            if call in self.taking:
                return self.tree.turn(connection)
            self.tree.received(connection)
        return "none"

    def forks(self, pid: int, call: str, arguments: str, result: str) -> None:
        """Handle a successful fork."""
        shares = call == "vfork" or "CLONE_VM" in arguments
        self.tree.forks(pid, Fork(number_of(result), "CLONE_THREAD" in arguments, shares))

    def finish(self) -> Tally:
        """End the trace, and return the tally."""
        self.tree.finish()
        remarks = []
        if self.damaged:
            remarks.append(f"unreadable lines of strace: {self.damaged} (first: {self.example!r})")
        if self.other_mode:
            remarks.append(
                f"{self.other_mode} changes to another mode (32 bit), whose calls have other costs"
            )
        if self.namespaces:
            remarks.append(
                f"{self.namespaces} new PID namespaces, in which forks report other numbers: these forks can count twice"
            )
        if self.tree.forgotten:
            remarks.append(f"{self.tree.forgotten} open connections were not tracked")
        return Tally(dict(self.counts.seen), tuple(remarks))
