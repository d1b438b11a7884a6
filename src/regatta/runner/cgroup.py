"""Accounting of whole process trees by a control group, version 2 or 1, where this process may make one.

The runner has one group for its measured processes. It moves itself in for the moment of the start, so that the child is
born inside, and out again: a move costs 10 us, a group for each invocation would cost ten times that.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from regatta.store.runner_state import process_start

_PREFIX = "regatta-"
_EMPTY_S = 5.0


@dataclass
class TreeUsage:
    """What a process tree used: CPU in ns, peak memory in bytes, OOM kills. None: not told."""

    version: int
    cpu_ns: int | None
    memory_peak_bytes: int | None
    oom_kills: int | None


def mounts() -> list[tuple[str, str, set[str]]]:
    """(file system, mount point, options) of the control group mounts."""
    found = []
    try:
        with open("/proc/self/mounts") as file:
            for line in file:
                _, point, kind, options, *_ = line.split()
                if kind in ("cgroup", "cgroup2"):
                    found.append((kind, point.replace("\\040", " "), set(options.split(","))))
    except OSError:
        pass
    return found


def paths_of(pid: int | str) -> dict[str, str]:
    """Controller ("" for version 2) -> path of a process' group (a number, or "self") under its mount."""
    paths = {}
    try:
        with open(f"/proc/{pid}/cgroup") as file:
            for line in file:
                _, controllers, path = line.rstrip("\n").split(":", 2)
                for controller in controllers.split(","):
                    paths[controller] = path
    except OSError:
        pass
    return paths


class _Group:
    """One directory of one hierarchy, and the way in and out."""

    def __init__(self, home: Path) -> None:
        self.directory = home / f"{_PREFIX}{os.getpid()}"
        self.directory.mkdir()
        opened: list[int] = []
        try:
            for place in (self.directory, home):
                opened.append(os.open(place / "cgroup.procs", os.O_WRONLY))
            self._inside, self._outside = opened
            self.enter()
            self.leave()
        except OSError:
            for fd in opened:
                os.close(fd)
            self.directory.rmdir()
            raise

    def enter(self) -> None:
        os.write(self._inside, b"0")

    def leave(self) -> None:
        os.write(self._outside, b"0")

    def open(self, name: str, flags: int = os.O_RDONLY) -> int | None:
        try:
            return os.open(self.directory / name, flags)
        except OSError:
            return None

    def close(self) -> None:
        os.close(self._inside)
        os.close(self._outside)
        for _ in range(100):
            try:
                self.directory.rmdir()
                return
            except OSError:
                time.sleep(0.01)


def _read(fd: int | None) -> bytes:
    return os.pread(fd, 4096, 0) if fd is not None else b""


def _field(text: bytes, name: bytes) -> int:
    for line in text.split(b"\n"):
        key, _, value = line.partition(b" ")
        if key == name:
            return int(value)
    return 0


class TreeAccounting:
    """The group of the measured processes. Use `begin`, start the process, `started`, and `finish` when it has ended."""

    def __init__(self, version: int, homes: list[Path]) -> None:
        """Make the group in each of `homes` (version 2: one; version 1: those of cpuacct and memory).

        Raises:
            OSError: not allowed here.
        """
        self.version = version
        self._groups: list[_Group] = []
        try:
            for home in homes:
                self._groups.append(_Group(home))
        except OSError:
            self.close()
            raise
        names = (
            ("cpu.stat", "memory.peak", "memory.events")
            if version == 2
            else ("cpuacct.usage", "memory.max_usage_in_bytes", "memory.oom_control")
        )
        self._cpu, self._peak, self._events = (self._first(name) for name in names)
        self.tells_oom_kills = b"oom_kill " in _read(self._events)
        self._cpu_ns_before = self._cpu_ns()
        self._oom_kills_before = self._oom_kills()

    def _first(self, name: str) -> int | None:
        for group in self._groups:
            for flags in (os.O_RDWR, os.O_RDONLY):
                fd = group.open(name, flags)
                if fd is not None:
                    return fd
        return None

    def _cpu_ns(self) -> int:
        text = _read(self._cpu)
        return _field(text, b"usage_usec") * 1000 if self.version == 2 else int(text or b"0")

    def _oom_kills(self) -> int:
        return _field(_read(self._events), b"oom_kill")

    def begin(self) -> None:
        """Move this process inside. Nobody has been there since `finish`, so that what was read then is where to begin."""
        self._peak_fresh = self._reset_peak()
        for group in self._groups:
            group.enter()

    def _reset_peak(self) -> bool:
        """Version 1 resets at any write; version 2 per descriptor since Linux 6.12. Without it there is no peak to tell."""
        if self._peak is None:
            return False
        try:
            os.pwrite(self._peak, b"0", 0)
        except OSError:
            return False
        return True

    def started(self) -> None:
        """Move this process out again; the child stays."""
        for group in self._groups:
            group.leave()

    def finish(self) -> TreeUsage:
        """What the tree has used since `begin`. The moment of the start (some 0.2 ms of the runner's CPU) is in it."""
        peak = int(_read(self._peak) or b"0") if self._peak_fresh else 0
        cpu_ns, oom_kills = self._cpu_ns(), self._oom_kills()
        usage = TreeUsage(
            self.version,
            cpu_ns - self._cpu_ns_before if self._cpu is not None else None,
            peak or None,
            oom_kills - self._oom_kills_before,
        )
        self._cpu_ns_before, self._oom_kills_before = cpu_ns, oom_kills
        return usage

    def close(self) -> None:
        """Remove the groups."""
        for group in self._groups:
            group.close()


def open_accounting() -> tuple[TreeAccounting | None, str]:
    """Make the group where this process may; returns it, or None and the reason."""
    own = paths_of("self")
    version_1: dict[str, Path] = {}
    version_2: Path | None = None
    for kind, point, options in mounts():
        if kind == "cgroup2" and "" in own:
            version_2 = Path(point + own[""])
        for controller in ("cpuacct", "memory"):
            if kind == "cgroup" and controller in options and controller in own:
                version_1[controller] = Path(point + own[controller])
    attempts: list[tuple[int, list[Path]]] = []
    if len(version_1) == 2:
        attempts.append((1, sorted(set(version_1.values()))))
    if version_2 is not None:
        attempts.append((2, [version_2]))
    reason = "no control groups are mounted"
    for version, homes in attempts:
        try:
            return TreeAccounting(version, homes), ""
        except OSError as error:
            reason = f"version {version}: {error.strerror}: {error.filename}"
    return None, reason


def end_stale_groups() -> int:
    """Kill what still runs in groups of runners that are gone, and remove the groups. The host's lock must be held.

    Returns:
        How many processes were killed.
    """
    killed = 0
    own = paths_of("self")
    for kind, point, options in mounts():
        key = "" if kind == "cgroup2" else next((c for c in own if c in options), None)
        if key is None or key not in own:
            continue
        for directory in Path(point + own[key]).glob(f"{_PREFIX}*"):
            owner = directory.name[len(_PREFIX) :]
            # One with this process' own number is stale too: this one has made none yet.
            if not owner.isdigit() or (int(owner) != os.getpid() and process_start(int(owner)) is not None):
                continue
            with contextlib.suppress(OSError):
                killed += _kill_members(directory)
                directory.rmdir()
    return killed


def _kill_members(directory: Path) -> int:
    """Kill what is in a group until it is empty, at most `_EMPTY_S`; returns how many there were."""
    killed: set[str] = set()
    deadline = time.monotonic() + _EMPTY_S
    while (members := (directory / "cgroup.procs").read_text().split()) and time.monotonic() < deadline:
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
                killed.add(pid)
        time.sleep(0.002)
    return len(killed)
