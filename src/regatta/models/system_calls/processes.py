"""Processes in /proc: members of a tree, their memory and time. A process can exit at any moment."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from regatta.host.errors import HostError
from regatta.host.processes import stat_fields
from regatta.models.system_calls.tree import Memory

_PROC = Path("/proc")
#: to attach to a tree that forks
_ATTEMPTS = 5
#: between samples of memory
_EVERY_S = 0.05


def _status(pid: int) -> dict[str, str]:
    try:
        text = (_PROC / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return {}
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def anonymous_bytes(pid: int) -> int:
    """Return the memory of a process that no file backs, in bytes; 0 if it has exited."""
    words = _status(pid).get("RssAnon", "0 kB").split()
    return int(words[0]) << 10 if words and words[0].isdigit() else 0


def memory_of(pid: int) -> Memory:
    """Return the memory of a process; empty if it has exited."""
    try:
        lines = (_PROC / str(pid) / "maps").read_bytes().splitlines()
        # [vsyscall] is the same for all processes, and no fork copies it.
        mappings = sum(not line.endswith(b"[vsyscall]") for line in lines)
    except OSError:
        mappings = 0
    return Memory(anonymous_bytes(pid) >> 10, mappings)


def tracer_of(pid: int) -> int:
    """Return the pid of the ptrace tracer: 0 without a tracer, -1 if the process has exited."""
    status = _status(pid)
    return int(status["TracerPid"]) if status.get("TracerPid", "").isdigit() else -1


def namespaces_of(pid: int) -> int:
    """Return the number of PID namespaces that contain a process, from that of /proc on; 0 if it has exited."""
    return len(_status(pid).get("NSpid", "").split())


def is_there(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    return _status(pid).get("State", "X")[:1] not in "XZ"


def tree_of(pid: int) -> tuple[int, ...]:
    """Return a process and its current descendants; empty if it has exited."""
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
    """Yield a process and its descendants for each attempt to attach. A tree that forks meanwhile is retried.

    Args:
        root: the process to trace.
        fix: the remedy if it runs in a container.

    Raises:
        HostError: the process does not exist, forks at every attempt, or runs in another PID namespace, such as a container,
            whose forks return numbers of that namespace.
    """
    own = namespaces_of(os.getpid())
    for _ in range(_ATTEMPTS):
        pids = tree_of(root)
        if not pids:
            raise HostError(f"process {root}", "a running process", "none")
        for pid in pids:
            if namespaces_of(pid) > own:
                raise HostError(
                    f"process {pid}",
                    "a process in the PID namespace of the tracer",
                    "a process in another namespace (NSpid in its /proc status has more numbers)",
                    fix,
                )
        yield pids
    expected = "a stable process tree"
    raise HostError(f"process {root}", expected, "new processes each time", "trace it after its start")


def _parent(pid: int) -> int | None:
    fields = stat_fields(pid)
    return int(fields[1]) if len(fields) > 1 else None


def started_ticks(pid: int) -> int:
    """Return the start time of a process in clock ticks after boot, which with the pid identifies it; 0 if it has exited."""
    fields = stat_fields(pid)
    return int(fields[19]) if len(fields) > 19 else 0


def user_ns(pids: tuple[int, ...]) -> int:
    """Return the user time of processes and their reaped children. The kernel counts it in ticks of about 10 ms."""
    ticks = 0
    for pid in pids:
        fields = stat_fields(pid)
        if len(fields) > 13:
            ticks += int(fields[11]) + int(fields[13])
    return ticks * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))


def calls_under_way(pids: tuple[int, ...]) -> dict[int, tuple[int, int]]:
    """Return thread -> number and first argument of the system call that blocks it. Running threads are omitted."""
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


class MemorySamples:
    """Samples the descendants of a process, without that process, from the `with` statement to its end.

    `rows`: (ns since 1970, bytes of anonymous memory). Pages that processes share after a fork count once for each.
    """

    def __init__(self, root: int) -> None:
        self.rows: list[tuple[int, int]] = []
        self._root = root
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> MemorySamples:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(_EVERY_S):
            now = time.time_ns()
            total = sum(anonymous_bytes(pid) for pid in tree_of(self._root)[1:])
            if total:
                self.rows.append((now, total))
