"""An experiment in which there is something to say on most topics: two hosts, heaps, pauses, latencies, warm-up, twins, failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from helpers.synthetic_journal import cell, record, write_facts, write_journal, write_plan

_SLOWNESS = {"serial": 1.0, "parallel": 0.9, "g1": 0.96, "z": 1.25}
_HEAPS = ((1.5, 48), (3.0, 96))
_ITERATIONS = 20


def write_rich_experiment(directory: Path, rounds: int = 6) -> Path:
    """Plan, journal and facts in `directory`; z warms up, beta drifts, one cell runs out of memory."""
    rng = np.random.default_rng(20070101)
    cells = [
        cell(collector, benchmark=benchmark, heap_factor=factor, heap_mib=mib)
        for benchmark in ("apps/ecj:small", "apps/h2:small")
        for factor, mib in _HEAPS
        for collector in _SLOWNESS
    ]
    cells += [
        {**one, "cell_id": f"twin{one['cell_id'][4:]}", "twin_of": one["cell_id"]}
        for one in cells
        if one["collector"] == "g1" and one["heap_factor"] == 3.0
    ]
    for host in ("alpha", "beta"):
        write_plan(directory, cells, rounds, host=host)
        lines = []
        for r in range(rounds):
            for position, one in enumerate(cells):
                failed = one["collector"] == "z" and one["heap_factor"] == 1.5 and "h2" in one["benchmark"]
                lines.append(
                    record(one, r, host=host, position=position, status="oom", reason="Java heap space")
                    if failed
                    else record(one, r, _rows(one, host, r, rng), host=host, position=position)
                )
        write_journal(directory, lines, host)
    write_facts(directory, method="fixed", warmup=5, baseline={"collector": "serial"})
    return directory


def _rows(one: dict[str, Any], host: str, r: int, rng: np.random.Generator) -> list[list[Any]]:
    base = 8e8 * _SLOWNESS[one["collector"]] * (1 + 0.5 / one["heap_factor"] ** 2) * rng.normal(1, 0.01)
    base *= 1.1 + 0.01 * r if host == "beta" else 1.0
    rows: list[list[Any]] = []
    for i in range(_ITERATIONS):
        value = base * (1 + 0.8 * np.exp(-i / 2) * (one["collector"] == "z")) * rng.normal(1, 0.005)
        rows += [
            [i, "elapsed", float(value), "ns", None, None],
            [i, "cpu", float(1.4 * value), "ns", None, None],
            [i, "gc_time", float(0.1 * value / one["heap_factor"]), "ns", None, None],
        ]
        for percentile in (50, 90, 99):
            wait = 1e5 * percentile * rng.uniform(1, 1.2)
            rows.append([i, "gc_pause", float(wait), "ns", None, {"percentile": percentile}])
            if "h2" in one["benchmark"]:
                simple = {"kind": "simple", "percentile": percentile}
                rows.append([i, "latency", float(2 * wait), "ns", None, simple])
    return rows
