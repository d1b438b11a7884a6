"""Experiments that together give every panel of the boards something to show; made up, for what one machine cannot all have."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from helpers.chat_experiment import write_chat_experiment
from helpers.fleet_experiment import Fleet, write_fleet
from helpers.rich_experiment import write_rich_experiment
from helpers.synthetic_journal import (
    START_NS,
    cell,
    native,
    record,
    write_experiment,
    write_facts,
    write_journal,
    write_plan,
)
from regatta.host.journal.record import decode_record, encode_record
from regatta.store.events import append_event

_HOUR_NS = 3600 * 10**9
_PRIMITIVES = (
    ("lat_syscall", {"kind": "read"}),
    ("lat_ctx", {"processes": 2}),
    ("lat_ctx", {"processes": 8}),
)


def write_board_experiments(folder: Path) -> list[Path]:
    """Collectors on two hosts with twins, pauses and failures; a chat server; system vectors; two of everything; platforms of two hosts; four nights of which one shifts."""
    now_ns = time.time_ns()
    written = [
        _placed(write_rich_experiment(folder / "collectors"), now_ns - 9 * _HOUR_NS),
        _placed(
            _on_two_hosts(write_chat_experiment(folder / "nightly-chat", windows=("", " window=9"))),
            now_ns - 10 * _HOUR_NS,
        ),
        _placed(_on_two_hosts(_vectors(folder / "vectors")), now_ns - 12 * _HOUR_NS),
        _placed(_everything_twice(folder / "twice"), now_ns - 6 * _HOUR_NS),
        _placed(_platforms(folder / "platforms"), now_ns - 16 * _HOUR_NS),
        *(_placed(_night(folder / f"nightly-{n}", n), now_ns - (5 - n) * 18 * _HOUR_NS) for n in range(1, 5)),
    ]
    append_event(written[0], "experiment_started", text="collectors")
    for host in ("alpha", "beta"):
        append_event(written[0], "segment_started", host, segment=0, text="segment 0")
        append_event(
            written[0], "progress", host, planned=108, recorded=90, failed=6, perturbed=2, remaining_s=600.0
        )
    append_event(written[0], "job_failed", "beta", text="measure_segment: the host went away")
    return written


def _everything_twice(directory: Path) -> Path:
    """Two of each thing that a cell may be, on two hosts of two platforms, with twins."""
    rng = np.random.default_rng(2)
    cells = [
        cell(collector, benchmark=benchmark, runtime=runtime, modifiers=modifiers, heap_factor=factor,
             heap_mib=int(32 * factor))
        for benchmark in ("apps/ecj:small", "apps/h2:small")
        for runtime in ("jdk-17", "jdk-21")
        for modifiers in ("none", "compact")
        for collector in ("serial", "g1")
        for factor in (1.5, 2.0)
    ]  # fmt: skip
    cells += [
        {**one, "cell_id": f"twin{one['cell_id'][4:]}", "twin_of": one["cell_id"]} for one in cells[::3]
    ]
    for host, platform in (("alpha", "x86"), ("beta", "arm")):
        placed = [{**one, "platform": platform} for one in cells]
        write_plan(directory, placed, 4, host=host)
        lines = []
        for r in range(4):
            for position, one in enumerate(placed):
                value = float(rng.normal(1e9, 1e7))
                rows: list[list[Any]] = [
                    [0, "elapsed", value, "ns", None, None],
                    [0, "cpu", 1.5 * value, "ns", None, None],
                    [0, "gc_time", 0.1 * value, "ns", None, None],
                    *(
                        [0, "gc_pause", value * share / 1e4, "ns", None, {"percentile": share}]
                        for share in (50, 90, 99, 100)
                    ),
                    # Of another kind: not to be taken for the pauses above.
                    [0, "gc_pause", value, "ns", None, {"kind": "all", "percentile": 99}],
                ]
                lines.append(record(one, r, rows, host=host, position=position))
        write_journal(directory, lines, host)
    write_facts(
        directory, baseline={"collector": "serial", "modifiers": "none"}, compare=("collector", "platform")
    )
    return directory


def _platforms(directory: Path) -> Path:
    """Two platforms of two hosts each."""
    hosts = {"xeon": ("x86", 1.0), "ryzen": ("x86", 0.8), "graviton": ("arm", 1.3), "altra": ("arm", 1.4)}
    programs = ("apps/ecj:small", "apps/h2:small", "apps/xalan:small")
    return write_fleet(
        directory,
        Fleet(
            hosts=hosts, programs=programs, primitives={}, compare=("collector", "platform"), baseline={"platform": "x86"}
        ),
    )  # fmt: skip


def _on_two_hosts(directory: Path) -> Path:
    """The same journal from a second host."""
    folder = directory / "plan"
    shutil.copytree(folder / "alpha", folder / "beta")
    plan = folder / "beta" / "plan.json"
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "host": "beta"}))
    (journal,) = (directory / "journal" / "alpha").glob("*.jsonl")
    lines = [
        {**decode_record(line), "host": "beta"} for line in journal.read_bytes().splitlines(keepends=True)
    ]
    write_journal(directory, lines, "beta")
    return directory


def _vectors(directory: Path) -> Path:
    cells = [
        cell(
            "",
            benchmark=f"lm/{name}:default",
            runtime=runtime,
            heap_factor=None,
            heap_mib=None,
            metric="latency",
        )
        for name in ("lat_syscall", "lat_ctx", "bw_mem")
        for runtime in ("clang", "gcc")
    ]
    rng = np.random.default_rng(1997)
    lines = []
    for r in range(5):
        for position, one in enumerate(cells):
            rows: list[list[Any]] = [
                [0, "latency", float(rng.normal(1000, 10)), "ns", 100, parameters]
                for name, parameters in _PRIMITIVES
                if name in one["benchmark"]
            ]
            if "bw_mem" in one["benchmark"]:
                rows = [[0, "latency", float(rng.normal(9000, 90)), "MB/s", 100, {"operation": "read"}]]
            lines.append(record(one, r, rows, position=position))
    return write_experiment(directory, cells, lines, 5)


#: the frozen program of each night
_CANARY = "canary/mixed:default"


def _night(directory: Path, night: int) -> Path:
    rng = np.random.default_rng(night)
    cells = [*(cell(collector) for collector in ("serial", "g1")), native(_CANARY)]
    level = 1e9 * (1.2 if night > 2 else 1.0)
    lines = [
        record(one, r, [float(rng.normal(1.0, 0.005)) * (5e8 if position == 2 else level)], position=position)
        for r in range(8)
        for position, one in enumerate(cells)
    ]
    return write_experiment(
        directory, cells, lines, 8, labels={"night": str(night)}, canary=(_CANARY, "0" * 16)
    )


def _placed(directory: Path, start_ns: int) -> Path:
    """The same experiment under its folder's name, begun at another time, on hosts that tell all there is to tell."""
    name = directory.name
    for path in (directory / "plan" / "experiment.json", *directory.glob("plan/*/plan.json")):
        value = json.loads(path.read_text())
        for part in (value, value.get("experiment")):
            if isinstance(part, dict) and ("name" in part or "plan_id" in part):
                part["name" if "name" in part else "experiment"] = name
        path.write_text(json.dumps(value))
    for path in directory.glob("journal/*/*.jsonl"):
        lines = [encode_record(one) for one in _told(path, name, start_ns)]
        path.write_bytes(b"".join(lines))
    return directory


def _told(path: Path, name: str, start_ns: int) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True)):
        one = decode_record(line)
        elapsed_ns = 2 * 10**9 + 10**7 * number
        before, after = _states(number)
        if name == "collectors" and number % 20 == 3:
            one.update({"status": "perturbed", "reason": "other_cpu_percent 31 > 30"})
        if name == "collectors" and number % 40 == 4:
            one.update({"status": "crashed", "reason": "signal 11", "iterations": []})
        if one["iterations"]:
            one["iterations"] += _more(name, one["iterations"][0][5])
        yield {
            **one,
            "experiment": name,
            "started_utc_ns": one["started_utc_ns"] - START_NS + start_ns,
            "elapsed_ns": elapsed_ns,
            "host_before": {**one["host_before"], **before},
            "host_after": {**one["host_after"], **after},
        }


def _more(name: str, parameters: Any) -> list[list[Any]]:
    """What real programs tell beside."""
    if name == "collectors":
        stalls = (
            [0, "gc_stall", 1e5 * share, "ns", None, {"percentile": share}] for share in (50, 90, 99, 100)
        )
        return [[0, "gc_pause_total", 2e6, "ns", None, {"kind": "Pause Young"}], *stalls]
    return [[0, "threads", 40, "count", None, parameters]] if "chat" in name else []


def _states(number: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    counted = {
        "busy_s": 1.5, "steal_s": 0.01, "psi_cpu_some_us": 9000, "psi_memory_some_us": 0, "psi_memory_full_us": 0,
        "psi_io_some_us": 700, "psi_io_full_us": 200, "swap_pages": 0, "throttle_events": number % 7 == 0,
    }  # fmt: skip
    fixed = {
        "load1": 0.5,
        "frequency_khz": 3_000_000 - 1000 * number,
        "temperature_mc": 51_000 + 100 * number,
    }
    return (
        {**fixed, **{key: float(5 * number * bool(value)) for key, value in counted.items()}},
        {**fixed, **{key: 5 * number * bool(value) + float(value) for key, value in counted.items()}},
    )
