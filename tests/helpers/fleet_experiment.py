"""An experiment on three hosts of two platforms, with Java and C cells, as the planner and the runners leave it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from helpers.synthetic_journal import cell, native, record, write_facts, write_journal, write_plan

#: host -> platform and how slow it is
HOSTS = {"xeon": ("x86", 1.0), "ryzen": ("x86", 0.8), "graviton": ("arm", 1.3)}
FACTS = {
    "xeon": {"cpu": "Intel Xeon", "architecture": "x86_64", "machine": "bare metal or unknown"},
    "ryzen": {"cpu": "AMD Ryzen", "architecture": "x86_64", "machine": "virtual machine"},
    "graviton": {"cpu": "Neoverse", "architecture": "aarch64", "machine": "emulated"},
}
_SLOWNESS = {"serial": 1.0, "parallel": 0.9, "g1": 0.96, "z": 1.25}
#: times as slow as with the runtime, heap or number of threads that is first here
_RUNTIMES = {"jdk-21": 1.0, "jdk-25": 0.93, "openj9-21": 1.1}
_HEAPS = {2.0: 1.0, 1.5: 1.3, 4.0: 0.85}
_THREADS = {1: 1.0, 2: 0.6, 8: 0.4}
_PROGRAMS = ("apps/ecj:small", "apps/h2:small")
_NATIVE = {"lm/lat_syscall:default": 80.0, "lm/lat_pipe:default": 4000.0}


@dataclass
class Fleet:
    """What is different from three whole hosts that agree."""

    rounds: int = 10
    #: host -> rounds that are recorded, where not all are
    recorded: Mapping[str, int] = field(default_factory=dict)
    #: host -> collector, or `threads=8` -> times as slow as on the others
    odd: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    #: platform -> collectors that it lacks
    lacking: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: host -> why it was left out
    left_out: Mapping[str, str] = field(default_factory=dict)
    #: host -> change of its times from one round to the next
    drift: Mapping[str, float] = field(default_factory=dict)
    baseline: Mapping[str, str] = field(default_factory=lambda: {"collector": "serial"})
    hosts: Mapping[str, tuple[str, float]] = field(default_factory=lambda: dict(HOSTS))
    programs: Sequence[str] = _PROGRAMS
    collectors: Sequence[str] = tuple(_SLOWNESS)
    #: program of the suite lm -> its time in ns
    primitives: Mapping[str, float] = field(default_factory=lambda: dict(_NATIVE))
    compare: Sequence[str] = ()
    runtimes: Sequence[str] = ("jdk-21",)
    #: factor of the minheap -> size in MiB
    heaps: Mapping[float, int] = field(default_factory=lambda: {2.0: 64})
    #: values of a chosen parameter of the C programs; empty: they have none
    threads: Sequence[int] = ()


def write_fleet(directory: Path, fleet: Fleet | None = None) -> Path:
    """Plans, journals, receipts and facts in `directory`."""
    fleet = fleet or Fleet()
    impossible = []
    for number, (host, (platform, slowness)) in enumerate(fleet.hosts.items()):
        rng = np.random.default_rng([20260101, number])
        lacking = fleet.lacking.get(platform, ())
        java = [
            cell(
                collector,
                benchmark=program,
                runtime=runtime,
                heap_factor=factor,
                heap_mib=mib,
                platform=platform,
            )
            for program in fleet.programs
            for factor, mib in fleet.heaps.items()
            for runtime in fleet.runtimes
            for collector in fleet.collectors
        ]
        impossible += [
            [one["label"], f"no build of {one['collector']} for {platform}", host]
            for one in java
            if one["collector"] in lacking
        ]
        cells = [one for one in java if one["collector"] not in lacking]
        labels = [f"{program} threads={n}" for program in fleet.primitives for n in fleet.threads]
        cells += [native(label, platform=platform) for label in labels or fleet.primitives]
        write_plan(directory, cells, fleet.rounds, host=host, plan_id=f"plan-{host}")
        done = 0 if host in fleet.left_out else fleet.recorded.get(host, fleet.rounds)
        if done:
            odd = fleet.odd.get(host, {})
            lines = [
                record(
                    one,
                    r,
                    [_value(one, slowness * (1 + fleet.drift.get(host, 0.0) * r), odd, rng)],
                    host=host,
                    position=position,
                    plan_id=f"plan-{host}",
                )
                for r in range(done)
                for position, one in enumerate(cells)
            ]
            write_journal(directory, lines, host)
        _write_receipt(directory, host, fleet.left_out.get(host, ""), done)
    facts = {host: FACTS.get(host, {"cpu": "a processor"}) for host in fleet.hosts}
    write_facts(
        directory, baseline=fleet.baseline, compare=fleet.compare, host_facts=facts, impossible=impossible
    )
    return directory


def _value(
    one: Mapping[str, Any], slowness: float, odd: Mapping[str, float], rng: np.random.Generator
) -> float:
    program, _, threads = one["benchmark"].partition(" threads=")
    if program in _NATIVE:
        own = _NATIVE[program] * (_THREADS[int(threads)] if threads else 1.0)
    else:
        own = 8e8 * _SLOWNESS[one["collector"]] * _RUNTIMES[one["runtime"]] * _HEAPS[one["heap_factor"]]
    level = f"threads={threads}" if threads else one["collector"]
    return float(own * slowness * odd.get(level, 1.0) * rng.normal(1, 0.01))


def _write_receipt(directory: Path, host: str, left_out: str, done: int) -> None:
    if not (left_out or done):
        return
    folder = directory / "receipts" / host
    folder.mkdir(parents=True, exist_ok=True)
    value = {"left_out": left_out} if left_out else {"host": host, "segment": 0}
    (folder / "00000.json").write_text(json.dumps(value))
