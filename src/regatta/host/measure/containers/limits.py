"""Read the limits of a container back from the kernel: CPUs, CPU quota, capabilities."""

from __future__ import annotations

import os
from typing import Any

from regatta.host.errors import HostError
from regatta.host.measure import cpu_quota
from regatta.host.measure.limits import isolation_of, quota_asked
from regatta.host.processes import effective_capabilities
from regatta.host.values.capabilities import CAPABILITIES
from regatta.host.values.plan_cell import PlanCell


class ContainerLimits:
    """The limits of one container. Call `begin` when its program is released, `finish` when the program has ended."""

    def __init__(self, where: str, cell: PlanCell, pid: int, cores: list[int]) -> None:
        """Read the limits.

        Args:
            where: the engine that made the container, for messages.
            cell: of the plan.
            pid: the container's first process.
            cores: requested CPUs.

        Raises:
            OSError: the process no longer exists.
        """
        self._where = where
        self._cell = cell
        self._pid = pid
        self._cores = set(cores)
        self._allowed = os.sched_getaffinity(pid)
        self._quota = quota_asked(cell)
        self._group = cpu_quota.group_of(pid) if self._quota is not None else None
        self._throttled: int | None = None

    def check(self) -> None:
        """Compare the effective limits with the requested ones: Docker only warns when the kernel does not support a limit.

        Raises:
            HostError: a limit differs.
        """
        processors = isolation_of(self._cell).get("processors")
        if not self._allowed <= self._cores or (processors and self._allowed != self._cores):
            # If these CPUs are not available, cgroup v2 silently assigns others.
            raise HostError(
                self._where,
                f"a container on CPUs {sorted(self._cores)}",
                f"CPUs {sorted(self._allowed)}",
                "give these CPUs to the control group of Docker; they may belong to another partition",
            )
        if self._quota is not None:
            why = (
                cpu_quota.why_not(*self._group, self._quota)
                if self._group
                else "no control group of the container"
            )
            if why:
                raise HostError(
                    self._where,
                    f"a container with a quota of {self._quota:g} CPUs",
                    why,
                    "mount the control group cpu, restart dockerd, and check its warnings",
                )
        self._check_capabilities()

    def _check_capabilities(self) -> None:
        asked = isolation_of(self._cell).get("capabilities")
        if not asked:
            return
        found = effective_capabilities(self._pid)
        if found != sum(1 << CAPABILITIES.index(name) for name in asked):
            got = [name for number, name in enumerate(CAPABILITIES) if found >> number & 1]
            raise HostError(
                self._where,
                f"a container with the capabilities {', '.join(asked)}",
                ", ".join(got) or "none",
                "run `regatta` as root, or remove the capabilities",
            )

    def begin(self) -> None:
        """Start counting."""
        self._before = cpu_quota.throttled_ns(*self._group) if self._group else None

    def finish(self) -> None:
        """Read the throttling by the quota while the container still exists."""
        after = cpu_quota.throttled_ns(*self._group) if self._group else None
        self._throttled = None if after is None or self._before is None else after - self._before

    def throttled(self) -> dict[str, Any]:
        """Return the time that the program was throttled, for a cell with a quota."""
        return {} if self._quota is None else {"throttled_ns": self._throttled}
