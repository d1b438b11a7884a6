"""Account for whole process trees with a control group, version 2 or 1, where this process may create one.

The runner has one group for its measured processes. It enters the group for the start, so that the child is created inside,
and leaves it again: a move costs 10 us, a new group per invocation ten times as much. With version 1 only the thread moves that
starts the process: before the kernel moves a whole process, it may wait for 10 to 15 ms (a grace period of RCU).
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from regatta.host.cgroup_mounts import mounts, paths_of
from regatta.host.measure import cpu_quota, memory_limit
from regatta.host.processes import process_start

_PREFIX = "regatta-"
#: controller -> whether a group in a folder, of a version, accepts its limit
CONTROLLERS = {"cpu": cpu_quota.can_limit, "memory": memory_limit.can_limit}
_EMPTY_S = 5.0


@dataclass
class TreeUsage:
    """Usage of a process tree: CPU in ns, peak memory in bytes, OOM kills. None: not available."""

    version: int
    cpu_ns: int | None
    memory_peak_bytes: int | None
    oom_kills: int | None


class _Group:
    """One directory of one hierarchy, with moves into it and out of it."""

    def __init__(self, home: Path, own: Path | None = None) -> None:
        """Make the group.

        Args:
            home: parent of the new group.
            own: group of this process; None: `home`.
        """
        self.directory = home / f"{_PREFIX}{os.getpid()}"
        self.directory.mkdir()
        opened: list[int] = []
        try:
            # Only version 1 has a file for threads that need not share a group with the rest of their process.
            members = "tasks" if (self.directory / "tasks").exists() else "cgroup.procs"
            for place in (self.directory, own or home):
                opened.append(os.open(place / members, os.O_WRONLY))
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
        _remove(self.directory)


def _remove(directory: Path) -> None:
    """Remove a group; retry for 1 s, because the kernel refuses until its processes have exited completely."""
    for _ in range(100):
        try:
            directory.rmdir()
            return
        except FileNotFoundError:
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


def _cpu_ns(text: bytes, version: int) -> int:
    return _field(text, b"usage_usec") * 1000 if version == 2 else int(text or b"0")


def cpu_ns_of(cpu_file: str) -> int | None:
    """Return the processor time of the group of another process; None if it no longer exists. `cpu_file`: from its accounting."""
    try:
        with open(cpu_file, "rb") as file:
            return _cpu_ns(file.read(), 2 if cpu_file.endswith("/cpu.stat") else 1)
    except OSError:
        return None


class TreeAccounting:
    """The group of the measured processes. Call `begin`, start the process, `started`, and `finish` after it has ended."""

    def __init__(
        self,
        version: int,
        homes: list[Path],
        limit_homes: Mapping[str, Path] | None = None,
        own: Path | None = None,
    ) -> None:
        """Make the group in each of `homes` (version 2: one; version 1: those of cpuacct and memory).

        Args:
            version: of control groups.
            homes: parents of the new groups.
            limit_homes: controller ("cpu", "memory") -> parent of a group that can have its limit; absent: not needed.
            own: with version 2, the group of this process if it differs.

        Raises:
            OSError: not allowed here.
        """
        self.version = version
        #: controller -> reason why its limit is not possible
        self.no_limit = dict.fromkeys(CONTROLLERS, "not requested")
        self._groups: list[_Group] = []
        #: Entered only with a quota: a separate group changes a process's CPU weight relative to other groups.
        self._quota_group: _Group | None = None
        #: controller -> the folder with its limit: that of a group in `_groups` or of `_quota_group`
        self._folders: dict[str, Path] = {}
        #: controllers whose limit is set
        self._limited: set[str] = set()
        try:
            for home in homes:
                self._groups.append(_Group(home, own))
            for controller, home in (limit_homes or {}).items():
                self._add_limit(controller, home)
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
        #: whether the peak is that of the process since `begin`, which is not called if the process cannot start
        self._peak_fresh = False

    def _add_limit(self, controller: str, home: Path) -> None:
        group = next((group for group in self._groups if group.directory.parent == home), None)
        try:
            if group is None:
                # Only the controller cpu can be in another hierarchy than those that are accounted for.
                group = self._quota_group = _Group(home)
        except OSError as error:
            self.no_limit[controller] = f"{error.strerror}: {error.filename}"
            return
        if CONTROLLERS[controller](group.directory, self.version):
            self._folders[controller] = group.directory
        else:
            self.no_limit[controller] = f"{group.directory}: the controller {controller} is missing"

    def limit(self, quota: float | None, memory_bytes: int | None) -> str:
        """Set the limits of the next process, while the group has no processes; None: unlimited.

        With a memory limit, pages of files that earlier processes left in the group are given back first.

        Args:
            quota: CPU quota in processors.
            memory_bytes: memory of the processes and of their files in the page cache, a multiple of 1 MiB.

        Returns:
            The reason why a limit does not hold, or "" if all were read back.
        """
        return self._limit(
            "cpu", quota is None, lambda folder: self._set_quota(folder, quota)
        ) or self._limit(
            "memory",
            memory_bytes is None,
            lambda folder: memory_limit.apply(folder, self.version, memory_bytes),
        )

    def _limit(self, controller: str, unlimited: bool, apply: Callable[[Path], str]) -> str:
        if unlimited and controller not in self._limited:
            return ""
        folder = self._folders.get(controller)
        if folder is None:
            return self.no_limit[controller]
        self._limited.add(controller)
        try:
            why = apply(folder)
        except OSError as error:
            return f"{error.strerror}: {folder}"
        if unlimited:
            self._limited.remove(controller)
        return why

    def _set_quota(self, folder: Path, quota: float | None) -> str:
        cpu_quota.set_quota(folder, self.version, quota)
        self._throttled_before = cpu_quota.throttled_ns(folder, self.version)
        return "" if quota is None else cpu_quota.why_not(folder, self.version, quota)

    @property
    def limits_memory(self) -> bool:
        """Return whether the next process has a memory limit. If so, call `begin` and `started` in another thread than the main one.

        If a process reaches the limit while the runner is still inside, the kernel may kill the runner, which can be the larger
        of the two. With version 1 the kernel considers only processes whose main thread is inside.
        """
        return "memory" in self._limited

    def throttled_ns(self) -> int | None:
        """Return how long the quota throttled the last process, summed over processors; None: not available."""
        if "cpu" not in self._limited or self._throttled_before is None:
            return None
        now = cpu_quota.throttled_ns(self._folders["cpu"], self.version)
        return None if now is None else now - self._throttled_before

    def _entered(self) -> list[_Group]:
        if self._quota_group is not None and "cpu" in self._limited:
            return [*self._groups, self._quota_group]
        return self._groups

    def _first(self, name: str) -> int | None:
        for group in self._groups:
            for flags in (os.O_RDWR, os.O_RDONLY):
                fd = group.open(name, flags)
                if fd is not None:
                    return fd
        return None

    @property
    def cpu_file(self) -> str:
        """Return the path of the file with the processor time of the group, for `cpu_ns_of`; "" without one."""
        return "" if self._cpu is None else os.readlink(f"/proc/self/fd/{self._cpu}")

    def _cpu_ns(self) -> int:
        return _cpu_ns(_read(self._cpu), self.version)

    def _oom_kills(self) -> int:
        return _field(_read(self._events), b"oom_kill")

    def begin(self) -> None:
        """Move this process inside. The group was empty since `finish`, so the values read then are the starting point."""
        self._peak_fresh = self._reset_peak()
        for group in self._entered():
            group.enter()

    def _reset_peak(self) -> bool:
        """Reset the peak. v1 resets at any write; v2 per descriptor since Linux 6.12. Without a reset, no peak is reported."""
        if self._peak is None:
            return False
        try:
            os.pwrite(self._peak, b"0", 0)
        except OSError:
            return False
        return True

    def started(self) -> None:
        """Move this process out again; the child stays."""
        for group in self._entered():
            group.leave()

    def finish(self) -> TreeUsage:
        """Return the usage of the tree since `begin`, including the start (about 0.2 ms of the runner's CPU time)."""
        peak = int(_read(self._peak) or b"0") if self._peak_fresh else 0
        self._peak_fresh = False
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
        for group in [*self._groups, *filter(None, [self._quota_group])]:
            group.close()


def _above(point: str, path: str) -> list[Path]:
    """Return a group and its ancestors up to the mount point of the hierarchy."""
    top = Path(point)
    folder = Path(point + path)
    return [folder, *(above for above in folder.parents if above == top or top in above.parents)]


def _hands_down(folder: Path) -> set[str]:
    """Return the controllers that child groups have (version 2)."""
    try:
        return set((folder / "cgroup.subtree_control").read_text().split())
    except OSError:
        return set()


@dataclass
class _Attempt:
    """A place to try for the groups; the fields are those of `TreeAccounting`."""

    version: int
    homes: list[Path]
    limit_homes: dict[str, Path] = field(default_factory=dict)
    own: Path | None = None


def _attempts(limits: Collection[str]) -> list[_Attempt]:
    own = paths_of("self")
    version_1: dict[str, Path] = {}
    version_2: list[Path] = []
    for kind, point, options in mounts():
        if kind == "cgroup2" and "" in own:
            version_2 = _above(point, own[""])
        for controller in ("cpuacct", "memory", "cpu"):
            if kind == "cgroup" and controller in options and controller in own:
                version_1[controller] = Path(point + own[controller])
    attempts = []
    if {"cpuacct", "memory"} <= version_1.keys():
        homes = sorted({version_1["cpuacct"], version_1["memory"]})
        attempts.append(_Attempt(1, homes, {name: version_1[name] for name in limits if name in version_1}))
    if version_2:
        if limits:
            found = [folder for folder in version_2 if _hands_down(folder).issuperset(limits)]
            attempts += [_Attempt(2, [at], dict.fromkeys(limits, at), version_2[0]) for at in found]
        attempts.append(_Attempt(2, version_2[:1]))
    return attempts


def open_accounting(limits: Collection[str] = ()) -> tuple[TreeAccounting | None, str]:
    """Make the group in the first place where this process may.

    Args:
        limits: controllers ("cpu", "memory") whose limits `TreeAccounting.limit` will set; if one is not possible,
            `no_limit` has the reason.

    Returns:
        The accounting, or None and the reason.
    """
    reason = "no control groups are mounted"
    for attempt in _attempts(limits):
        try:
            found = TreeAccounting(attempt.version, attempt.homes, attempt.limit_homes, attempt.own)
        except OSError as error:
            reason = f"version {attempt.version}: {error.strerror}: {error.filename}"
            continue
        needed = " and ".join(sorted(limits))
        for controller in set(limits) - attempt.limit_homes.keys():
            found.no_limit[controller] = f"no usable control group has the controller {needed}"
        return found, ""
    return None, reason


def end_stale_groups() -> int:
    """Kill the remaining processes in groups of dead runners, and remove the groups. Requires the host lock.

    Returns:
        The number of killed processes.
    """
    killed = 0
    own = paths_of("self")
    for kind, point, options in mounts():
        key = "" if kind == "cgroup2" else next((c for c in own if c in options), None)
        if key is None or key not in own:
            continue
        # With limits, the group may be in an ancestor.
        homes = _above(point, own[key]) if kind == "cgroup2" else [Path(point + own[key])]
        for directory in (found for home in homes for found in home.glob(f"{_PREFIX}*")):
            owner = directory.name[len(_PREFIX) :]
            # A group with this process's PID is stale too: this process has not made one yet.
            if not owner.isdigit() or (int(owner) != os.getpid() and process_start(int(owner)) is not None):
                continue
            with contextlib.suppress(OSError):
                killed += _kill_members(directory)
                _remove(directory)
    return killed


def _kill_members(directory: Path) -> int:
    """Kill the processes of a group until it is empty, for at most `_EMPTY_S`; return their number."""
    killed: set[str] = set()
    deadline = time.monotonic() + _EMPTY_S
    while (members := (directory / "cgroup.procs").read_text().split()) and time.monotonic() < deadline:
        # 0 is a process of another PID namespace, which has no PID here.
        for pid in (member for member in members if member != "0"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
                killed.add(pid)
        time.sleep(0.002)
    return len(killed)
