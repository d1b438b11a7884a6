"""Processes in /proc: a tree's members, their memory, their time. A process may be gone at any moment."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from regatta.host.errors import HostError
from regatta.host.processes import stat_fields
from regatta.trace.tree import Memory

_PROC = Path("/proc")
#: to attach to a tree that forks
_ATTEMPTS = 5


def _status(pid: int) -> dict[str, str]:
    try:
        text = (_PROC / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return {}
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def memory_of(pid: int) -> Memory:
    """What a process has of memory; nothing where it is gone."""
    words = _status(pid).get("RssAnon", "0 kB").split()
    try:
        lines = (_PROC / str(pid) / "maps").read_bytes().splitlines()
        # The same for all processes, and no fork copies it.
        mappings = sum(not line.endswith(b"[vsyscall]") for line in lines)
    except OSError:
        mappings = 0
    return Memory(int(words[0]) if words and words[0].isdigit() else 0, mappings)


def tracer_of(pid: int) -> int:
    """Who traces a process by ptrace: 0 nobody, -1 where it is gone."""
    status = _status(pid)
    return int(status["TracerPid"]) if status.get("TracerPid", "").isdigit() else -1


def namespaces_of(pid: int) -> int:
    """In how many namespaces of processes it has a number, from the one of /proc on; 0 where it is gone."""
    return len(_status(pid).get("NSpid", "").split())


def is_there(pid: int) -> bool:
    """Whether a process is there, and not only waits for its parent to look."""
    return _status(pid).get("State", "X")[:1] not in "XZ"


def tree_of(pid: int) -> tuple[int, ...]:
    """A process and its descendants, as they are now; empty where it is gone."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in os.listdir(_PROC):
        if entry.isdigit():
            parent = _parent(int(entry))
            if parent is not None:
                children[parent].append(int(entry))
    if not is_there(pid):
        return ()
    found = [pid]
    for member in found:
        found.extend(children[member])
    return tuple(found)


def listed(root: int, fix: str) -> Iterator[tuple[int, ...]]:
    """A process and its descendants, for each attempt to attach to all of them: a tree that forks meanwhile is tried again.

    Args:
        root: what is to be traced.
        fix: the way out where it lives in a container.

    Raises:
        HostError: it is not there, forks at every attempt, or lives in a namespace of its own, as in a container: its forks
            tell numbers of that namespace.
    """
    own = namespaces_of(os.getpid())
    for _ in range(_ATTEMPTS):
        pids = tree_of(root)
        if not pids:
            raise HostError(f"process {root}", "a process to trace", "none")
        for pid in pids:
            if namespaces_of(pid) > own:
                raise HostError(
                    f"process {pid}",
                    "a process in the tracer's own namespace of processes",
                    "one in another (NSpid in its /proc status has more numbers)",
                    fix,
                )
        yield pids
    expected = "a tree of processes that can be listed"
    raise HostError(f"process {root}", expected, "new ones each time", "trace it when it has started")


def _parent(pid: int) -> int | None:
    fields = stat_fields(pid)
    return int(fields[1]) if len(fields) > 1 else None


def started_ticks(pid: int) -> int:
    """When a process was started, in clock ticks after the boot: with the number it is that process and no other. 0: gone."""
    fields = stat_fields(pid)
    return int(fields[19]) if len(fields) > 19 else 0


def user_ns(pids: tuple[int, ...]) -> int:
    """User time of processes and of the children that they have waited for. The kernel counts it in ticks of 10 ms or so."""
    ticks = 0
    for pid in pids:
        fields = stat_fields(pid)
        if len(fields) > 13:
            ticks += int(fields[11]) + int(fields[13])
    return ticks * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))


def calls_under_way(pids: tuple[int, ...]) -> dict[int, tuple[int, int]]:
    """Thread -> number and first argument of the system call that it waits in; those that run are left out."""
    found = {}
    for pid in pids:
        try:
            threads = os.listdir(_PROC / str(pid) / "task")
        except OSError:
            continue
        for thread in threads:
            try:
                words = (_PROC / str(pid) / "task" / thread / "syscall").read_text().split()
            except OSError:
                continue
            if len(words) > 2 and words[0].isdigit():
                found[int(thread)] = (int(words[0]), int(words[1], 16))
    return found
