"""The processors and the processor time that a cell may use: chosen, tried before anything is measured, and read back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from regatta.host.errors import HostError
from regatta.host.measure.cgroup import TreeAccounting
from regatta.host.values.plan_cell import PlanCell


def isolation_of(cell: PlanCell) -> Mapping[str, Any]:
    """`isolation` of a cell of the plan, which the usual ones do not have."""
    found: Mapping[str, Any] = cell.get("isolation", {})
    return found


def isolation_kind(cell: PlanCell) -> str:
    """How a cell of the plan is isolated; those that say nothing are in a control group."""
    return str(isolation_of(cell).get("kind", "cgroup"))


def quota_asked(cell: PlanCell) -> float | None:
    """Processors' worth of time that a cell may use; None: no limit."""
    found = isolation_of(cell).get("cpu_quota")
    return None if found is None else float(found)


def limits_asked(cell: PlanCell) -> dict[str, Any]:
    """The limits of a cell as its record repeats them; only those that it has."""
    keys = ("processors", "cpu_quota", "capabilities")
    return {key: isolation_of(cell)[key] for key in keys if isolation_of(cell).get(key)}


def cores_of(cell: PlanCell, measured: list[int]) -> list[int]:
    """The CPUs of a cell: the last of those that are measured on, as many as it may use."""
    processors = isolation_of(cell).get("processors")
    return sorted(measured)[-processors:] if processors else measured


def wants_quota(cells: Iterable[PlanCell]) -> bool:
    """Whether some cells need a control group with a quota, outside of containers."""
    return any(quota_asked(cell) is not None and isolation_kind(cell) != "docker" for cell in cells)


def set_quota(cell: PlanCell, accounting: TreeAccounting | None, why_none: str = "") -> None:
    """Give what begins next the processor time of its cell.

    Args:
        cell: of the plan, not in a container.
        accounting: None: there is no control group.
        why_none: for that.

    Raises:
        HostError: the quota cannot be set, or is not what was read back.
    """
    quota = quota_asked(cell)
    if accounting is None:
        why = why_none or "no control group" if quota is not None else ""
    else:
        why = accounting.limit(quota)
    if why:
        raise HostError(
            f"{cell['label']}: isolation: cpu_quota",
            f"a control group with {'no quota' if quota is None else f'a quota of {quota:g}'}", why,
            "run as a user who may make a control group with the controller cpu, take `kind: docker`, or leave the quota out",
        )  # fmt: skip


def check_limits(
    cells: Iterable[PlanCell],
    measured: list[int],
    accounting: TreeAccounting | None,
    why_none: str = "",
) -> None:
    """See that the limits of all cells can be set here, before one is measured.

    Args:
        cells: that are to be measured.
        measured: CPUs of this host to measure on.
        accounting, why_none: as `set_quota` has them.

    Raises:
        HostError: one cannot.
    """
    own = os.sched_getaffinity(0)
    for cell in cells:
        processors = isolation_of(cell).get("processors")
        if processors:
            chosen = cores_of(cell, measured)
            _check_processors(cell, processors, chosen, own)
        if isolation_kind(cell) != "docker" and quota_asked(cell) is not None:
            set_quota(cell, accounting, why_none)
    if accounting is not None:
        accounting.limit(None)


def _check_processors(cell: PlanCell, processors: int, chosen: list[int], own: set[int]) -> None:
    got = f"{len(chosen)} to measure on: {chosen}"
    if len(chosen) == processors:
        try:
            os.sched_setaffinity(0, chosen)
            found = sorted(os.sched_getaffinity(0))
            got = f"CPUs {found} where {chosen} were asked for"
        except OSError as error:
            got = f"CPUs {chosen}: {error.strerror}"
            found = []
        finally:
            os.sched_setaffinity(0, own)
        if found == chosen:
            return
    raise HostError(
        f"{cell['label']}: isolation: processors", f"{processors} CPUs on this host", got,
        "ask for fewer, or see `cores` in the spec",
    )  # fmt: skip
