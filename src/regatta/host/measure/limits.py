"""Choose the CPUs, the CPU quota and the memory of a cell, test them before measuring, and read them back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from regatta.host.errors import HostError
from regatta.host.measure.cgroup import TreeAccounting
from regatta.host.values.plan_cell import PlanCell

#: limit of a cell -> the controller of control groups that sets it
_CONTROLLER = {"cpu_quota": "cpu", "memory_mib": "memory"}


def isolation_of(cell: PlanCell) -> Mapping[str, Any]:
    """Return `isolation` of a cell of the plan; it is absent for default cells."""
    found: Mapping[str, Any] = cell.get("isolation", {})
    return found


def isolation_kind(cell: PlanCell) -> str:
    """Return the kind of isolation of a cell of the plan; the default is a control group."""
    return str(isolation_of(cell).get("kind", "cgroup"))


def quota_asked(cell: PlanCell) -> float | None:
    """Return the CPU quota of a cell in processors; None: no limit."""
    found = isolation_of(cell).get("cpu_quota")
    return None if found is None else float(found)


def limits_asked(cell: PlanCell) -> dict[str, Any]:
    """Return the limits of a cell for its record, without absent ones."""
    keys = ("processors", "cpu_quota", "memory_mib", "capabilities")
    return {key: isolation_of(cell)[key] for key in keys if isolation_of(cell).get(key)}


def cores_of(cell: PlanCell, measured: list[int]) -> list[int]:
    """Return the CPUs of a cell: the last of the measured CPUs, as many as the cell may use."""
    processors = isolation_of(cell).get("processors")
    return sorted(measured)[-processors:] if processors else measured


def _group_limits(cell: PlanCell) -> dict[str, Any]:
    """Return the limits of a cell that a control group of the runner sets."""
    if isolation_kind(cell) == "docker":
        return {}
    return {key: value for key, value in limits_asked(cell).items() if key in _CONTROLLER}


def controllers_of(cells: Iterable[PlanCell]) -> set[str]:
    """Return the controllers whose limits the cells outside of containers need."""
    return {_CONTROLLER[key] for cell in cells for key in _group_limits(cell)}


def set_limits(cell: PlanCell, accounting: TreeAccounting | None, why_none: str = "") -> None:
    """Set the CPU quota and the memory of the next process to those of its cell.

    Args:
        cell: of the plan, not in a container.
        accounting: None: no control group is available.
        why_none: the reason for None.

    Raises:
        HostError: a limit cannot be set, or differs when read back.
    """
    asked = _group_limits(cell)
    if accounting is None:
        why = (why_none or "no control group") if asked else ""
    else:
        memory_mib = asked.get("memory_mib")
        why = accounting.limit(asked.get("cpu_quota"), None if memory_mib is None else memory_mib << 20)
    if why:
        told = " and ".join(f"{key} {value:g}" for key, value in asked.items())
        needed = " and ".join(_CONTROLLER[key] for key in asked or _CONTROLLER)
        raise HostError(
            f"{cell['label']}: isolation: {', '.join(asked) or 'no limits'}",
            f"a control group with {told or 'no limits'}",
            why,
            f"run as a user who may create control groups with the controller {needed}, use `kind: docker`, "
            "or remove the limit",
        )


def check_limits(
    cells: Iterable[PlanCell],
    measured: list[int],
    accounting: TreeAccounting | None,
    why_none: str = "",
) -> None:
    """Check before measuring that the limits of all cells can be set here.

    Args:
        cells: cells to measure.
        measured: CPUs of this host to measure on.
        accounting, why_none: see `set_limits`.

    Raises:
        HostError: a limit cannot be set.
    """
    own = os.sched_getaffinity(0)
    for cell in cells:
        processors = isolation_of(cell).get("processors")
        if processors:
            chosen = cores_of(cell, measured)
            _check_processors(cell, processors, chosen, own)
        if _group_limits(cell):
            set_limits(cell, accounting, why_none)
    if accounting is not None:
        accounting.limit(None, None)


def _check_processors(cell: PlanCell, processors: int, chosen: list[int], own: set[int]) -> None:
    got = f"{len(chosen)}: {chosen}"
    if len(chosen) == processors:
        try:
            os.sched_setaffinity(0, chosen)
            found = sorted(os.sched_getaffinity(0))
            got = f"CPUs {found} instead of {chosen}"
        except OSError as error:
            got = f"CPUs {chosen}: {error.strerror}"
            found = []
        finally:
            os.sched_setaffinity(0, own)
        if found == chosen:
            return
    raise HostError(
        f"{cell['label']}: isolation: processors",
        f"{processors} measured CPUs on this host",
        got,
        "reduce `processors`, or correct `cores` in the spec",
    )
