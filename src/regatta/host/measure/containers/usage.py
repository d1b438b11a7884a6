"""Read the resource usage of a container from its control groups (v2 or v1), which exist until the gate lets it end."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from regatta.host.cgroup_mounts import mounts, paths_of

#: v1 reports times in ns, v2 in us. v1 samples user and system time at clock ticks; its total is exact.
_CPU = {
    1: {"all": ("cpuacct.usage", ""), "user": ("cpuacct.usage_user", ""), "system": ("cpuacct.usage_sys", "")},
    2: {"all": ("cpu.stat", "usage_usec"), "user": ("cpu.stat", "user_usec"), "system": ("cpu.stat", "system_usec")},
}  # fmt: skip
_CPU_NS = {1: 1, 2: 1000}
_PEAK = {1: "memory.max_usage_in_bytes", 2: "memory.peak"}
_OOM = {1: "memory.oom_control", 2: "memory.events"}


@dataclass
class ContainerUsage:
    """Usage of the program and its children. None: not available; `untold` has the reason, by key of the record."""

    version: int
    cpu_ns: int
    user_s: float
    system_s: float
    memory_peak_bytes: int | None
    oom_kills: int | None
    minor_faults: int | None
    major_faults: int | None
    untold: dict[str, str]


class ContainerGroups:
    """The control groups of a process. Call `begin` when its program is released, `finish` when the program has ended."""

    def __init__(self, pid: int, container: str) -> None:
        """Open the files of the groups.

        Args:
            pid: the container's first process.
            container: its ID, which the paths of the groups contain.

        Raises:
            LookupError: no groups, or those of another container: the process is not on this machine.
        """
        self.version, self._folders = _find(pid, container)
        self._fds: dict[str, int] = {}
        self._peak_fresh = False
        try:
            for name in (
                "cpu.stat",
                "cpuacct.usage",
                "cpuacct.usage_user",
                "cpuacct.usage_sys",
                "memory.stat",
            ):
                self._keep(name, os.O_RDONLY)
            self._keep(_OOM[self.version], os.O_RDONLY)
            self._keep(_PEAK[self.version], os.O_RDWR)
            if any(self._cpu_ns(kind) is None for kind in _CPU[self.version]):
                raise LookupError(f"no CPU time in the control group {self._folders[0]}")
        except LookupError:
            self.close()
            raise

    def _keep(self, name: str, flags: int) -> None:
        for folder in self._folders:
            try:
                self._fds[name] = os.open(folder / name, flags | os.O_CLOEXEC)
                return
            except OSError:
                continue

    def _value(self, name: str, field: str = "") -> int | None:
        try:
            text = os.pread(self._fds[name], 1 << 14, 0)
        except (KeyError, OSError):
            return None
        if field:
            start = (b"\n" + text).find(b"\n" + field.encode() + b" ")
            text = text[start:].split(None, 2)[1] if start >= 0 else b""
        text = text.strip()
        return int(text) if text.isdigit() else None

    def _cpu_ns(self, kind: str) -> int | None:
        value = self._value(*_CPU[self.version][kind])
        return None if value is None else value * _CPU_NS[self.version]

    def _counts(self) -> dict[str, int | None]:
        counts = {kind: self._cpu_ns(kind) for kind in _CPU[self.version]}
        counts["oom"] = self._value(_OOM[self.version], "oom_kill")
        counts["faults"] = self._value("memory.stat", "pgfault")
        counts["major"] = self._value("memory.stat", "pgmajfault")
        return counts

    def processes(self) -> list[int]:
        """Return all processes in the container."""
        try:
            return [int(word) for word in (self._folders[0] / "cgroup.procs").read_text().split()]
        except OSError:
            return []

    def begin(self) -> None:
        """Start counting. Reset the memory peak, which includes Docker's own; a kernel that cannot reset it yields no peak."""
        peak = self._fds.get(_PEAK[self.version])
        try:
            self._peak_fresh = peak is not None and os.pwrite(peak, b"0", 0) > 0
        except OSError:
            self._peak_fresh = False
        self._before = self._counts()

    def finish(self) -> ContainerUsage:
        """Return the usage since `begin`."""
        after = self._counts()
        since: dict[str, int | None] = {}
        untold: dict[str, str] = {}
        for key, end in after.items():
            begin = self._before[key]
            since[key] = None if begin is None or end is None else end - begin
        peak = self._value(_PEAK[self.version]) if self._peak_fresh else None
        if peak is None:
            untold["memory_peak_bytes"] = "this user may not reset the peak"
        if since["oom"] is None:
            untold["oom_kills"] = "not counted by the control group"
        total = since["all"] or 0
        user_s, system_s = _split(total, since["user"] or 0, since["system"] or 0)
        minor = None if since["faults"] is None else since["faults"] - (since["major"] or 0)
        if minor is None:
            untold["minor_faults"] = "not counted by the control group"
        return ContainerUsage(
            self.version, total, user_s, system_s, peak, since["oom"], minor, since["major"], untold
        )

    def close(self) -> None:
        """Close the files."""
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()


def _split(total_ns: int, user_ns: int, system_ns: int) -> tuple[float, float]:
    """Return user and system time in s: the total, split in proportion to the samples, as the kernel does for `wait4`."""
    sampled = user_ns + system_ns
    user_s = total_ns / 1e9 * (user_ns / sampled if sampled else 1.0)
    return user_s, total_ns / 1e9 - user_s


def _find(pid: int, container: str) -> tuple[int, list[Path]]:
    """Return the version and folders of a container's groups."""
    paths = {key: path for key, path in paths_of(pid).items() if container in path}
    folders: dict[int, list[Path]] = {1: [], 2: []}
    for kind, point, options in mounts():
        if kind == "cgroup2" and "" in paths:
            folders[2].append(Path(point + paths[""]))
        for controller in ("cpuacct", "memory"):
            if kind == "cgroup" and controller in options and controller in paths:
                folders[1].append(Path(point + paths[controller]))
    for version, least in ((1, 2), (2, 1)):
        found = [folder for folder in dict.fromkeys(folders[version]) if folder.is_dir()]
        if len(folders[version]) >= least and found:
            return version, found
    raise LookupError(f"no control group of process {pid} names the container")
