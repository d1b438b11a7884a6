"""Which CPUs measured processes use, by the machine's topology."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

_SYS_CPU = Path("/sys/devices/system/cpu")


def parse_cpu_list(text: str) -> list[int]:
    """Read the kernel's list form, "0-3,8" -> [0, 1, 2, 3, 8]."""
    cpus: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first:
            cpus.extend(range(int(first), int(last or first) + 1))
    return cpus


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def read_topology(root: Path = _SYS_CPU) -> list[dict[str, Any]]:
    """One entry a CPU that is online: `cpu`, `core`, `package`, `node`, `siblings` (hardware threads of its core),
    `caches` (level -> CPUs that share it). Where the kernel tells nothing, each CPU is a core of its own."""
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


def _flat(cores: list[list[int]]) -> list[int]:
    return [cpu for core in cores for cpu in core]


def choose_cores(
    use: str, cpus: list[int], housekeeping: int, topology: list[dict[str, Any]], allowed: set[int]
) -> tuple[list[int] | None, list[int] | None]:
    """Choose the CPUs of measured processes and those of the runner.

    Args:
        use: `all`, `physical` (one hardware thread of each core) or `cpus` (those listed).
        cpus: for `cpus`.
        housekeeping: physical cores kept for the runner and the system; the lowest numbered, where interrupts go.
        topology: from `read_topology`.
        allowed: CPUs this process may use.

    Returns:
        `(measured, runner)`, each sorted, or None where nothing is to be set.

    Raises:
        ValueError: no CPU is left, or a listed one is not there.
    """
    cores: dict[tuple[int, ...], list[int]] = {}
    for entry in topology:
        threads = [cpu for cpu in entry["siblings"] if cpu in allowed]
        if threads:
            cores[tuple(threads)] = threads
    ordered = sorted(cores.values())
    if use == "cpus":
        missing = sorted(set(cpus) - allowed)
        if missing:
            raise ValueError(f"CPU {missing[0]} is not there or not allowed; allowed are {sorted(allowed)}")
        rest = sorted(allowed - set(cpus))
        return sorted(cpus), rest or None
    kept, measured_cores = ordered[:housekeeping], ordered[housekeeping:]
    if not measured_cores:
        raise ValueError(f"{housekeeping} housekeeping cores of {len(ordered)} leave none to measure on")
    if use == "all" and not housekeeping:
        return None, None
    measured = [core[0] for core in measured_cores] if use == "physical" else _flat(measured_cores)
    return sorted(measured), sorted(_flat(kept)) or None
