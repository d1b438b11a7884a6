"""Set and read back the CPU quota of a control group, version 2 or 1, and read its throttling."""

from __future__ import annotations

from pathlib import Path

from regatta.host.cgroup_mounts import mounts, paths_of

#: A quota of 1 is this much processor time per period.
PERIOD_US = 100_000
_FILE = {1: "cpu.cfs_quota_us", 2: "cpu.max"}
_PERIOD_FILE = "cpu.cfs_period_us"


def quota_us(quota: float) -> int:
    """Convert a quota in processors to microseconds per period."""
    return round(quota * PERIOD_US)


def can_limit(folder: Path, version: int) -> bool:
    """Return whether a group accepts a quota: the controller is available."""
    return (folder / _FILE[version]).exists()


def set_quota(folder: Path, version: int, quota: float | None) -> None:
    """Set the quota of a group in processors; None: unlimited. A new period starts.

    Raises:
        OSError: the kernel refuses it, as version 1 does if an ancestor has less.
    """
    if version == 2:
        amount = "max" if quota is None else str(quota_us(quota))
        (folder / _FILE[2]).write_text(f"{amount} {PERIOD_US}")
        return
    # Remove an existing quota first: with another period it may exceed that of an ancestor.
    (folder / _FILE[1]).write_text("-1")
    (folder / _PERIOD_FILE).write_text(str(PERIOD_US))
    if quota is not None:
        (folder / _FILE[1]).write_text(str(quota_us(quota)))


def quota_of(folder: Path, version: int) -> tuple[int | None, int]:
    """Return the quota of a group as (microseconds, period in microseconds); None: no limit.

    Raises:
        OSError, ValueError: it cannot be read.
    """
    if version == 2:
        amount, period = (folder / _FILE[2]).read_text().split()
        return (None if amount == "max" else int(amount)), int(period)
    found = int((folder / _FILE[1]).read_text())
    return (None if found < 0 else found), int((folder / _PERIOD_FILE).read_text())


def why_not(folder: Path, version: int, quota: float) -> str:
    """Compare the quotas of a group and its ancestors with the requested one; return "" if that one is effective."""
    try:
        found, period_us = quota_of(folder, version)
        if found is None or abs(found / period_us - quota) > 0.5 / PERIOD_US:
            told = "no limit" if found is None else f"{found} us of {period_us} us"
            return f"{told} in {folder / _FILE[version]}"
        for above in folder.parents:
            if not can_limit(above, version):
                break
            found, period_us = quota_of(above, version)
            if found is not None and found / period_us < quota:
                return f"{found / period_us:g} in {above / _FILE[version]}, which limits all groups below"
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def throttled_ns(folder: Path, version: int) -> int | None:
    """Return how long the quota has throttled a group so far, summed over processors; None: not available."""
    name, unit = ("throttled_time", 1) if version == 1 else ("throttled_usec", 1000)
    try:
        for line in (folder / "cpu.stat").read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value) * unit
    except (OSError, ValueError):
        pass
    return None


def group_of(pid: int) -> tuple[Path, int] | None:
    """Return the group whose quota applies to a process, and its version; None if no group has one."""
    paths = paths_of(pid)
    found = None
    for kind, point, options in mounts():
        if kind == "cgroup" and "cpu" in options and "cpu" in paths:
            return Path(point + paths["cpu"]), 1
        if kind == "cgroup2" and "" in paths:
            found = Path(point + paths[""]), 2
    return found if found is not None and can_limit(*found) else None
