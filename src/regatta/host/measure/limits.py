"""Choose the CPUs and the CPU quota of a cell, test them before measuring, and read them back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from regatta.host.errors import HostError
from regatta.host.measure.cgroup import TreeAccounting
from regatta.host.values.plan_cell import PlanCell


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
    keys = ("processors", "cpu_quota", "capabilities")
    return {key: isolation_of(cell)[key] for key in keys if isolation_of(cell).get(key)}


def cores_of(cell: PlanCell, measured: list[int]) -> list[int]:
    """Return the CPUs of a cell: the last of the measured CPUs, as many as the cell may use."""
    processors = isolation_of(cell).get("processors")
    return sorted(measured)[-processors:] if processors else measured


def wants_quota(cells: Iterable[PlanCell]) -> bool:
    """Return whether any cell outside of containers needs a control group with a quota."""
    return any(quota_asked(cell) is not None and isolation_kind(cell) != "docker" for cell in cells)


def set_quota(cell: PlanCell, accounting: TreeAccounting | None, why_none: str = "") -> None:
    """Set the CPU quota of the next process to that of its cell.

    Args:
        cell: of the plan, not in a container.
        accounting: None: no control group is available.
        why_none: the reason for None.

    Raises:
        HostError: the quota cannot be set, or differs when read back.
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
            "run as a user who may create control groups with the controller cpu, use `kind: docker`, or remove the quota",
        )  # fmt: skip


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
        accounting, why_none: see `set_quota`.

    Raises:
        HostError: a limit cannot be set.
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
        f"{cell['label']}: isolation: processors", f"{processors} measured CPUs on this host", got,
        "reduce `processors`, or correct `cores` in the spec",
    )  # fmt: skip
