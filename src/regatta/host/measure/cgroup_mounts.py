"""Find the mount points of control groups, and the groups of a process."""

from __future__ import annotations


def mounts() -> list[tuple[str, str, set[str]]]:
    """Return (file system, mount point, options) of the control group mounts."""
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
    """Return controller ("" for version 2) -> path of the group of a process (PID or "self") under its mount."""
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
