"""The limits of a container read back from the kernel: its CPUs, its quota of processor time, its capabilities."""

from __future__ import annotations

import os
from typing import Any

from regatta.host.errors import HostError
from regatta.host.measure import cpu_quota
from regatta.host.measure.limits import isolation_of, quota_asked
from regatta.host.values.capabilities import CAPABILITIES
from regatta.host.values.plan_cell import PlanCell


class ContainerLimits:
    """Those of one container. `begin` when its program is let go, `finish` when that has ended."""

    def __init__(self, where: str, cell: PlanCell, pid: int, cores: list[int]) -> None:
        """Args:
        where: for messages: the engine that made it.
        cell: of the plan.
        pid: the container's first process.
        cores: CPUs that were asked for.

        Raises:
            OSError: the process is gone.
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
        """Compare what holds with what was asked for: Docker leaves out what a kernel cannot do with no more than a warning.

        Raises:
            HostError: it is something else.
        """
        processors = isolation_of(self._cell).get("processors")
        if not self._allowed <= self._cores or (processors and self._allowed != self._cores):
            # Version 2 of control groups gives a container other CPUs without a word where it may not have these.
            raise HostError(
                self._where, f"a container on CPUs {sorted(self._cores)}", f"one on {sorted(self._allowed)}",
                "let Docker's own group have these CPUs: they may be in a partition of others",
            )  # fmt: skip
        if self._quota is not None:
            why = cpu_quota.why_not(*self._group, self._quota) if self._group else "no control group of it"
            if why:
                raise HostError(
                    self._where, f"a container with a quota of {self._quota:g} processors", why,
                    "mount the control group cpu, start dockerd again, and see its warnings",
                )  # fmt: skip
        self._check_capabilities()

    def _check_capabilities(self) -> None:
        asked = isolation_of(self._cell).get("capabilities")
        if not asked:
            return
        found = _effective(self._pid)
        if found != sum(1 << CAPABILITIES.index(name) for name in asked):
            got = [name for number, name in enumerate(CAPABILITIES) if found >> number & 1]
            raise HostError(
                self._where, f"a container with the capabilities {', '.join(asked)}", ", ".join(got) or "none",
                "they are root's: run `regatta` as root, or leave them out",
            )  # fmt: skip

    def begin(self) -> None:
        """From here on it counts."""
        self._before = cpu_quota.throttled_ns(*self._group) if self._group else None

    def finish(self) -> None:
        """Read what a quota did, while the container is still there."""
        after = cpu_quota.throttled_ns(*self._group) if self._group else None
        self._throttled = None if after is None or self._before is None else after - self._before

    def throttled(self) -> dict[str, Any]:
        """How long a quota held the program up, where there is one."""
        return {} if self._quota is None else {"throttled_ns": self._throttled}


def _effective(pid: int) -> int:
    """The effective capabilities of a process as a mask; 0 where it is gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((int(line.split()[1], 16) for line in file if line.startswith("CapEff:")), 0)
    except OSError:
        return 0
