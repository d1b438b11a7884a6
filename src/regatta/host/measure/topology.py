"""Choose the CPUs of measured processes from the machine's topology."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from regatta.host.values.cpu_list import parse_cpu_list

_SYS_CPU = Path("/sys/devices/system/cpu")


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def read_topology(root: Path = _SYS_CPU) -> list[dict[str, Any]]:
    """Return one entry per online CPU: `cpu`, `core`, `package`, `node`, `siblings`, `caches`.

    `siblings` are the hardware threads of its core, `caches` maps a level to the CPUs that share it. Without information from
    the kernel, each CPU counts as a core.
    """
    online = parse_cpu_list(_text(root / "online")) or sorted(os.sched_getaffinity(0))
    entries = []
    for cpu in online:
        base = root / f"cpu{cpu}"
        node = next((int(p.name[4:]) for p in base.glob("node[0-9]*")), 0)
        caches = {}
        for index in sorted(base.glob("cache/index*")):
            if _text(index / "type") != "Instruction":
                caches[f"L{_text(index / 'level')}"] = parse_cpu_list(_text(index / "shared_cpu_list"))
        entries.append(
            {
                "cpu": cpu,
                "core": int(_text(base / "topology/core_id") or cpu),
                "package": int(_text(base / "topology/physical_package_id") or 0),
                "node": node,
                "siblings": parse_cpu_list(_text(base / "topology/thread_siblings_list")) or [cpu],
                "caches": caches,
            }
        )
    return entries


def _domain(entry: dict[str, Any]) -> tuple[Any, ...]:
    """Return the domain of a core: its memory node and its largest cache."""
    caches = entry["caches"]
    return (entry["node"], tuple(caches[max(caches)]) if caches else ())


def choose_cores(
    cores: Mapping[str, Any], topology: list[dict[str, Any]], allowed: set[int]
) -> tuple[list[int] | None, list[int] | None]:
    """Choose the CPUs of measured processes and those of the runner.

    Args:
        cores: `use`: `all`, `physical` (one hardware thread of each core) or `cpus` (those listed in `cpus`);
            `count`: number of cores, from one memory node and one largest cache if one is big enough (None: all);
            `housekeeping`: number of physical cores for the runner and the system, the lowest numbered, which get interrupts.
        topology: from `read_topology`.
        allowed: CPUs this process may use.

    Returns:
        `(measured, runner)`, each sorted, or None if no affinity is to be set.

    Raises:
        ValueError: too few CPUs remain, or a listed one does not exist.
    """
    if cores["use"] == "cpus":
        missing = sorted(set(cores["cpus"]) - allowed)
        if missing:
            raise ValueError(f"CPU {missing[0]} is missing or not allowed (allowed: {sorted(allowed)})")
        return sorted(cores["cpus"]), sorted(allowed - set(cores["cpus"])) or None
    if cores["use"] == "all" and not cores["housekeeping"] and not cores["count"]:
        return None, None
    threads_of: dict[tuple[int, ...], tuple[Any, ...]] = {}
    for entry in topology:
        threads = tuple(cpu for cpu in entry["siblings"] if cpu in allowed)
        if threads:
            threads_of[threads] = _domain(entry)
    ordered = sorted(threads_of)
    kept, free = ordered[: cores["housekeeping"]], ordered[cores["housekeeping"] :]
    wanted = cores["count"] or len(free)
    if not free or wanted > len(free):
        raise ValueError(
            f"{len(free)} of {len(ordered)} cores are free ({len(kept)} for housekeeping), {wanted or 1} are needed"
        )
    chosen = _together(free, wanted, threads_of)
    measured = (
        [core[0] for core in chosen]
        if cores["use"] == "physical"
        else [cpu for core in chosen for cpu in core]
    )
    rest = [cpu for core in kept for cpu in core] or list(allowed - {cpu for core in chosen for cpu in core})
    return sorted(measured), sorted(rest) or None


def _together(
    free: list[tuple[int, ...]], wanted: int, domain_of: dict[tuple[int, ...], tuple[Any, ...]]
) -> list[tuple[int, ...]]:
    """Return `wanted` cores of the smallest domain that is large enough, otherwise of as few domains as possible."""
    domains: dict[tuple[Any, ...], list[tuple[int, ...]]] = {}
    for core in free:
        domains.setdefault(domain_of[core], []).append(core)
    fitting = [cores for cores in domains.values() if len(cores) >= wanted]
    if fitting:
        return min(fitting, key=len)[:wanted]
    largest_first = sorted(domains.values(), key=len, reverse=True)
    return [core for cores in largest_first for core in cores][:wanted]


def halve(measured: Iterable[int], topology: list[dict[str, Any]]) -> list[list[int]]:
    """Divide CPUs into two halves with equally many physical cores, along memory nodes and caches where that is possible.

    Args:
        measured: the CPUs. Hardware threads of a core stay together. Of an odd number of cores, one is in no half.
        topology: from `read_topology`.

    Returns:
        The CPUs of each half, sorted.

    Raises:
        ValueError: there are less than two cores.
    """
    wanted = set(measured)
    domain_of: dict[tuple[int, ...], tuple[Any, ...]] = {}
    for entry in topology:
        threads = tuple(sorted(wanted.intersection(entry["siblings"])))
        if threads:
            domain_of[threads] = _domain(entry)
    cores = sorted(domain_of, key=lambda core: (domain_of[core], core))
    count = len(cores) // 2
    if not count:
        raise ValueError(f"{len(cores)} core")
    return [sorted(cpu for core in half for cpu in core) for half in (cores[:count], cores[-count:])]
