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
from dataclasses import dataclass
from pathlib import Path

from regatta.host.measure.cgroup_mounts import mounts, paths_of
from regatta.host.measure.cpu_quota import can_limit, set_quota, throttled_ns, why_not
from regatta.host.processes import process_start

_PREFIX = "regatta-"
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


class TreeAccounting:
    """The group of the measured processes. Call `begin`, start the process, `started`, and `finish` after it has ended."""

    def __init__(
        self, version: int, homes: list[Path], quota_home: Path | None = None, own: Path | None = None
    ) -> None:
        """Make the group in each of `homes` (version 2: one; version 1: those of cpuacct and memory).

        Args:
            version: of control groups.
            homes: parents of the new groups.
            quota_home: parent of a group that can have a CPU quota; None: no quota is needed.
            own: with version 2, the group of this process if it differs.

        Raises:
            OSError: not allowed here.
        """
        self.version = version
        #: reason why no quota is possible; "" if one is possible
        self.no_quota = "not requested" if quota_home is None else ""
        self._groups: list[_Group] = []
        #: Entered only with a quota: a separate group changes a process's CPU weight relative to other groups.
        self._quota_group: _Group | None = None
        #: the folder with the quota: the group's own or that of `_quota_group`
        self._quota_folder: Path | None = None
        self._limited = False
        try:
            for home in homes:
                self._groups.append(_Group(home, own))
            if quota_home is not None:
                self._add_quota(quota_home)
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

    def _add_quota(self, home: Path) -> None:
        group = next((group for group in self._groups if group.directory.parent == home), None)
        try:
            if group is None:
                group = self._quota_group = _Group(home)
        except OSError as error:
            self.no_quota = f"{error.strerror}: {error.filename}"
            return
        if can_limit(group.directory, self.version):
            self._quota_folder = group.directory
        else:
            self.no_quota = f"{group.directory}: the controller cpu is missing"

    def limit(self, quota: float | None) -> str:
        """Set the CPU quota of the next process, in processors; None: unlimited.

        Returns:
            The reason why the quota does not hold, or "" if it was read back.
        """
        if quota is None and not self._limited:
            return ""
        if self._quota_folder is None:
            return self.no_quota
        try:
            set_quota(self._quota_folder, self.version, quota)
        except OSError as error:
            return f"{error.strerror}: {self._quota_folder}"
        self._limited = quota is not None
        self._throttled_before = throttled_ns(self._quota_folder, self.version)
        return "" if quota is None else why_not(self._quota_folder, self.version, quota)

    def throttled_ns(self) -> int | None:
        """Return how long the quota throttled the last process, summed over processors; None: not available."""
        if self._quota_folder is None or not self._limited or self._throttled_before is None:
            return None
        now = throttled_ns(self._quota_folder, self.version)
        return None if now is None else now - self._throttled_before

    def _entered(self) -> list[_Group]:
        return [*self._groups, self._quota_group] if self._quota_group and self._limited else self._groups

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


def _can_hand_down(folder: Path) -> bool:
    """Return whether child groups have the controller cpu (version 2)."""
    try:
        return "cpu" in (folder / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False


@dataclass
class _Attempt:
    """A place to try for the groups; the fields are those of `TreeAccounting`."""

    version: int
    homes: list[Path]
    quota_home: Path | None = None
    own: Path | None = None


def _attempts(with_quota: bool) -> list[_Attempt]:
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
        attempts.append(_Attempt(1, homes, version_1.get("cpu") if with_quota else None))
    if version_2:
        if with_quota:
            found = [folder for folder in version_2 if _can_hand_down(folder)]
            attempts += [_Attempt(2, [folder], folder, version_2[0]) for folder in found]
        attempts.append(_Attempt(2, version_2[:1]))
    return attempts


def open_accounting(with_quota: bool = False) -> tuple[TreeAccounting | None, str]:
    """Make the group in the first place where this process may.

    Args:
        with_quota: whether `TreeAccounting.limit` will be called; if no quota is possible, `no_quota` has the reason.

    Returns:
        The accounting, or None and the reason.
    """
    reason = "no control groups are mounted"
    for attempt in _attempts(with_quota):
        try:
            found = TreeAccounting(attempt.version, attempt.homes, attempt.quota_home, attempt.own)
        except OSError as error:
            reason = f"version {attempt.version}: {error.strerror}: {error.filename}"
            continue
        if with_quota and attempt.quota_home is None:
            found.no_quota = "no usable control group has the controller cpu"
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
        # With a quota, the group may be in an ancestor.
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
