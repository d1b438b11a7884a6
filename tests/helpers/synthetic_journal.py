"""Experiments made up for tests: plans and journals as the planner and the runner write them, checksums included."""

from __future__ import annotations

import array
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from regatta.host.journal.cells import CellsFile
from regatta.host.journal.journal import CELLS
from regatta.host.journal.plan_files import Row
from regatta.host.journal.record import encode_record
from regatta.host.measure.record_making import unmeasured
from regatta.host.values.cell import NO_MODIFIERS, Cell
from regatta.host.values.experiment import Benchmark, Expectation, Heap, RuntimeKind

START_NS = 1_700_000_000_000_000_000


def planned_cell(cell_id: str, kind: RuntimeKind, /, **changes: Any) -> dict[str, Any]:
    """A cell of `plan.json`, as the planner writes it but for some values."""
    benchmark = Benchmark(
        suite="", name="", size="", kind=kind, command=(), adapter="process", adapter_options={}, metric="elapsed",
        better="lower", parameters={}, environment={}, arrange={}, check=(), expect=Expectation(), builds={}, inputs={},
    )  # fmt: skip
    made = Cell(
        cell_id=cell_id, host="alpha", platform="local", benchmark=benchmark, runtime="native", collector="",
        modifiers=NO_MODIFIERS, heap=Heap(), argv=(), environment={}, arrange={}, check=(), files=(),
    )  # fmt: skip
    return {**made.to_json(timeout_s=20.0, iterations=1), **changes}


def cell(
    collector: str = "g1",
    *,
    benchmark: str = "apps/h2:small",
    runtime: str = "jdk-21",
    modifiers: str = "none",
    heap_factor: float | None = 2.0,
    heap_mib: int | None = 64,
    metric: str = "elapsed",
    better: str = "lower",
    platform: str = "local",
) -> dict[str, Any]:
    """A cell of `plan.json`; its id is a hash of what it is."""
    parts = {
        "benchmark": benchmark, "runtime": runtime, "collector": collector, "modifiers": modifiers,
        "heap_factor": heap_factor, "heap_mib": heap_mib, "platform": platform, "metric": metric, "better": better,
    }  # fmt: skip
    cell_id = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    label = f"{benchmark} · {runtime} {collector} {modifiers} · {heap_mib} MiB"
    return planned_cell(
        cell_id,
        "java" if collector else "native",
        **parts,
        label=label,
        adapter={"name": "regatta", "options": {}},
    )


def native(benchmark: str = "spec/gzip:test", **other: Any) -> dict[str, Any]:
    """A cell of a native program."""
    return cell("", benchmark=benchmark, runtime="native", heap_factor=None, heap_mib=None, **other)


def record(
    of: Mapping[str, Any],
    round: int,
    values: Sequence[float] | Sequence[Sequence[Any]] = (),
    *,
    host: str = "alpha",
    block: int = 0,
    position: int = 0,
    attempt: int = 0,
    plan_id: str = "plan-a",
    order: str = "randomized-blocks",
    status: str = "ok",
    reason: str | None = None,
    started: int | None = None,
) -> dict[str, Any]:
    """A record. `values`: one `elapsed` in ns an iteration, or whole rows `[iteration, metric, value, unit, operations, parameters]`."""
    rows = [
        list(value) if isinstance(value, list | tuple) else [i, "elapsed", value, "ns", None, None]
        for i, value in enumerate(values)
    ]
    state = {"load1": 0.5, "psi_cpu_some_us": 12, "busy_s": 1.5, "frequency_khz": None}
    start = (
        START_NS + (round * 1000 + block * 50 + position * 10 + attempt) * 10**9
        if started is None
        else started
    )
    header = {
        "experiment": "made-up", "host": host, "platform": of["platform"], "plan_id": plan_id, "seed": 1, "order": order,
    }  # fmt: skip
    planned: Any = of
    row = Row(round * 10 + position, round, block, position, planned)
    return {
        **unmeasured(header, row, attempt, segment=0),
        "sequence": -1,
        "started_utc_ns": start,
        "started_monotonic_ns": start - START_NS,
        "elapsed_ns": 1_000_000,
        "status": status,
        "reason": reason,
        "exit_code": 0 if status in ("ok", "perturbed") else 1,
        "rusage": {"user_s": 1, "system_s": 0.25, "max_rss_kib": 1000, "minor_faults": 1, "major_faults": 0,
                   "voluntary_switches": 2, "involuntary_switches": 3},
        "iterations": rows,
        "host_before": state,
        "host_after": state,
        "cores": [0, 1],
        "runner": {"version": "0.1.0", "before_ns": 1, "after_ns": 2},
    }  # fmt: skip


def write_journal(
    directory: Path, records: Iterable[dict[str, Any]], host: str = "alpha", segment: int = 0
) -> Path:
    """Write one journal file, `sequence` counted."""
    path = directory / "journal" / host / f"{segment}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for sequence, one in enumerate(records):
            file.write(encode_record({**one, "sequence": sequence}))
    return path


def describe(directory: Path, cells: Iterable[Mapping[str, Any]], host: str = "alpha") -> Path:
    """Write what cells are into the journal of a host, as the runner does before their first records."""
    file = CellsFile(directory / "journal" / host, "made-up", host)
    for one in cells:
        file.describe(one)
    file.close()
    return directory / "journal" / host / CELLS


def write_plan(
    directory: Path,
    cells: Sequence[dict[str, Any]],
    rounds: int,
    host: str = "alpha",
    plan_id: str = "plan-a",
    discarded_rounds: int = 0,
    stopping: Mapping[str, Any] | None = None,
) -> None:
    """Write `plan.json` and `rows.i32` of a host: one block a round, the discarded ones among the `rounds`."""
    folder = directory / "plan" / host
    folder.mkdir(parents=True, exist_ok=True)
    plan = {
        "v": 1,
        "experiment": "made-up",
        "plan_id": plan_id,
        "host": host,
        "platform": cells[0]["platform"] if cells else "local",
        "rounds": rounds,
        "discarded_rounds": discarded_rounds,
        "rows": rounds * len(cells),
        "segments": [[0, rounds * len(cells)]],
        "stopping": stopping,
        "seed": 1,
        "cells": list(cells),
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    rows = array.array("i")
    for round in range(rounds):
        for index in range(len(cells)):
            rows.extend((round, 0, index, index))
    (folder / "rows.i32").write_bytes(rows.tobytes())


def write_facts(
    directory: Path,
    *,
    method: str = "startup",
    warmup: int = 0,
    baseline: Mapping[str, str] | None = None,
    level: float = 0.95,
    impossible: Sequence[Sequence[str]] = (),
    labels: Mapping[str, str] | None = None,
    compare: Sequence[str] = (),
    host_facts: Mapping[str, Mapping[str, str]] | None = None,
    capacity: Sequence[Mapping[str, Any]] = (),
    canary: tuple[str, str] = ("", ""),
    runtimes: Mapping[str, str] | None = None,
    regatta: str = "",
    order: str = "randomized-blocks",
    predicted: Mapping[str, Any] | None = None,
    **steady: Any,
) -> None:
    """Write `plan/experiment.json`. `canary`: label and hash of its file. `steady`: further keys of the steady state, such as `window`."""
    value = {
        "experiment": {
            "name": "made-up", "question": "Which collector is fastest?", "seed": 1, "order": order,
            "level": level, "steady": {"method": method, "iterations": 5, "warmup": warmup, **steady},
            "labels": dict(labels or {}),
            "baseline": {"runtime": None, "collector": None, "modifiers": None, **(baseline or {})},
            "compare": list(compare),
            "capacity": [dict(target) for target in capacity],
            "canary": canary[0], "canary_programs": {"alpha": canary[1]},
            **({"predicted": dict(predicted)} if predicted else {}),
        },
        "regatta": regatta,
        "hosts": host_facts or {"alpha": {"cpu": "a processor"}},
        "runtimes": runtimes or {"jdk-21": "21.0.2"},
        "impossible": [list(item) for item in impossible],
    }  # fmt: skip
    (directory / "plan").mkdir(parents=True, exist_ok=True)
    (directory / "plan" / "experiment.json").write_text(json.dumps(value))


def write_experiment(
    directory: Path,
    cells: Sequence[dict[str, Any]],
    records: Iterable[dict[str, Any]],
    rounds: int,
    discarded_rounds: int = 0,
    **facts: Any,
) -> Path:
    """Plan, journal and facts of an experiment on one host."""
    write_plan(directory, cells, rounds, discarded_rounds=discarded_rounds)
    write_facts(directory, **facts)
    write_journal(directory, records)
    return directory
