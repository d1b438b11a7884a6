"""The sides of `regatta explain-difference`, and the spec of the runs in which both are profiled."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from regatta.cli.derived_spec import DIGITS, OF_EXPERIMENT, derived_spec, entry_of, refuse
from regatta.host.counters.program_profile import ProgramProfile
from regatta.host.errors import HostError, StoreError
from regatta.host.values.cell import NO_MODIFIERS
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Experiment, Heap
from regatta.host.values.levels import Levels, differing, heap_level, levels_of_planned
from regatta.host.values.plan_cell import PlanCell
from regatta.spec.home import find_home
from regatta.spec.load import load_spec
from regatta.store.folder import Folder, find_folders, read_json

#: the spec of the profiled runs in the folder of their experiment
SPEC = "difference.yml"
#: what is counted in the profiled runs; counters that a host lacks are listed with the reason
_COUNTERS = (
    "task-clock", "context-switches", "migrations", "page-faults", "major-faults", "cycles", "instructions", "branch-misses",
    "llc-misses", "program-profile",
)  # fmt: skip
#: Name of a modifier: JVMs write the names of compiled methods to /tmp/perf-PID.map, and keep frame pointers, with which perf finds
#: callers. Those without these options (before JDK 17) run as usual, and their compiled code has no names.
FOR_JAVA = "perf-map"
_JAVA_OPTIONS = "JAVA_TOOL_OPTIONS"
_MODIFIER = {
    "environment": {
        _JAVA_OPTIONS: "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer"
    }
}
#: characters of the beginning of an id
_LEAST_ID = 6


@dataclass(frozen=True)
class Side:
    """One side: its name, its level of each factor, and its cells by host."""

    name: str
    levels: Levels
    cells: dict[str, PlanCell]

    @property
    def benchmark(self) -> str:
        """Return the label of its benchmark."""
        return next(iter(self.cells.values()))["benchmark"]

    @property
    def modifiers(self) -> tuple[str, ...]:
        """Return the names of its modifiers."""
        names = self.levels.get("modifiers", NO_MODIFIERS)
        return () if names == NO_MODIFIERS else tuple(names.split("+"))

    @property
    def profiled(self) -> Side:
        """Return the same side in the profiled runs of a Java program."""
        names = self.modifiers if FOR_JAVA in self.modifiers else (*self.modifiers, FOR_JAVA)
        return replace(self, levels={**self.levels, "modifiers": "+".join(names)})


Sides = tuple[Side, Side]


def find_sides(a: str, b: str, results: Path, experiment: str | None) -> tuple[Folder, Sides]:
    """Return the experiment that has both cells.

    Args:
        a, b: ids, their beginnings, or parts of labels.
        results: folder of all experiments.
        experiment: its name; None: any but those of profiled runs.

    Raises:
        StoreError: none has both, or a text means several cells.
    """
    found: list[tuple[Folder, Sides]] = []
    unclear: list[str] = []
    for folder in find_folders(experiment, results):
        if experiment is None and (folder.path / SPEC).exists():
            continue
        cells = [
            (host, cell)
            for host in folder.planned_hosts()
            for cell in folder.host_header(host)["cells"]
            if not cell["twin_of"]
        ]
        chosen = [_matching(cells, wanted) for wanted in (a, b)]
        if all(len(labels) == 1 for labels in chosen):
            first, second = (next(iter(labels.values())) for labels in chosen)
            found.append((folder, _sides(first, second)))
        elif all(chosen):
            unclear += next(labels for labels in chosen if len(labels) > 1)
    if unclear:
        got = f"{len(unclear)} cells, such as {unclear[0]}"
        raise StoreError(f"{a} and {b}", "one cell each", got, "name more of the label, or the id")
    if len(found) > 1:
        names = ", ".join(folder.name for folder, _ in found)
        raise StoreError(f"{a} and {b}", "cells of one experiment", names, "choose one with --experiment")
    if not found:
        fix = "list the cells: `regatta plan SPEC`"
        raise StoreError(str(results), f"an experiment with cells like {a!r} and {b!r}", "none", fix)
    return found[0]


def _matching(cells: Sequence[tuple[str, PlanCell]], wanted: str) -> dict[str, dict[str, PlanCell]]:
    """Return label -> host -> cell, of the cells that a text means: by the first of these ways that finds some."""
    ways: tuple[Callable[[PlanCell], bool], ...] = (
        lambda cell: cell["label"] == wanted or cell["cell_id"] == wanted,
        lambda cell: cell["label"].endswith(f" {wanted}") or f" {wanted} · " in cell["label"],
        lambda cell: len(wanted) >= _LEAST_ID and cell["cell_id"].startswith(wanted),
        lambda cell: wanted in cell["label"],
    )
    for means in ways:
        labels = {cell["label"] for _, cell in cells if wanted and means(cell)}
        if labels:
            found: dict[str, dict[str, PlanCell]] = {}
            for host, cell in cells:
                if cell["label"] in labels:
                    found.setdefault(cell["label"], {})[host] = cell
            return found
    return {}


def _sides(first: dict[str, PlanCell], second: dict[str, PlanCell]) -> Sides:
    levels = [levels_of_planned(next(iter(cells.values()))) for cells in (first, second)]
    factors = differing(*levels)
    if not factors:
        label = next(iter(first.values()))["label"]
        raise StoreError(label, "two different cells", "the same one twice", "name another side")
    names = [" ".join(filter(None, (one.get(factor, "") for factor in factors))) for one in levels]
    if not all(names) or names[0] == names[1]:
        names = [next(iter(cells.values()))["label"] for cells in (first, second)]
    return Side(names[0], levels[0], first), Side(names[1], levels[1], second)


def spec_of(folder: Folder) -> tuple[Path, Experiment, Path]:
    """Return the spec of an experiment, its model, and its home.

    Raises:
        StoreError: the spec is gone.
        SpecError: it is not valid any more.
    """
    document = read_json(folder.experiment, "run the experiment again")
    values = document.get("experiment")
    spec = Path(str(values.get("spec") if isinstance(values, dict) else ""))
    if not spec.is_file():
        fix = "call this in the folder in which `regatta run` was called"
        raise StoreError(str(folder.experiment), "the spec of the experiment", f"no file {spec}", fix)
    home = find_home(spec)
    return spec, load_spec(spec, home), home


def check_can_sample(experiment: Experiment) -> None:
    """Raise HostError if this machine measures alone and perf does not work: rounds without a profile would be in vain."""
    machines = [machine for host in experiment.hosts for machine in host.members or (host,)]
    if not all(machine.is_local for machine in machines):
        return
    try:
        ProgramProfile(os.path.join(tempfile.gettempdir(), "results")).close()
    except OSError as error:
        fix = "install it, or run this as root and outside of a container"
        raise HostError("this host", "perf, which samples programs", str(error), fix) from error


def profiled_spec(spec: Path, experiment: Experiment, sides: Sides, rounds: int) -> dict[str, Any]:
    """Return the spec of the profiled runs: only the cells of both sides, with counters and a profile.

    Raises:
        SpecError: the sides cannot be profiled, or not in one experiment.
    """
    for side in sides:
        for cell in side.cells.values():
            if cell.get("roles"):
                refuse(side.name, "a program on one host", "roles", "compare programs without roles")
            if _JAVA_OPTIONS in cell["environment"] and FOR_JAVA not in side.modifiers:
                fix = "set these options in `flags` of a modifier"
                refuse(side.name, f"no {_JAVA_OPTIONS}, which the profiler needs", "one", fix)
    java = {one.name for one in experiment.runtimes if one.kind == "java"}
    if any(side.levels.get("runtime") in java for side in sides):
        sets = [side.profiled.modifiers for side in sides]
    else:
        sets = [side.modifiers for side in sides]

    def used(factor: str) -> list[str]:
        return list(dict.fromkeys(side.levels[factor] for side in sides if factor in side.levels))

    runtimes = [name for name in used("runtime") if name != "native"]
    lists = {"runtimes": runtimes, "collectors": used("collector")}
    found: dict[str, Any] = {
        **{key: names for key, names in lists.items() if names},
        "modifiers": {FOR_JAVA: _MODIFIER},
        "modifier_sets": [list(names) for names in dict.fromkeys(sets)],
        "baseline": dict.fromkeys(factor.partition(".")[0] for factor in experiment.baseline),
        "counters": list(_COUNTERS),
        "exclude": _others(experiment, sides, sets),
    }
    identity = digest_of([found, [dict(side.levels) for side in sides], rounds])[:DIGITS]
    found["name"] = f"{experiment.name[:OF_EXPERIMENT]}-difference-{identity}"
    # Each host has the level of the experiment: differences are explained on each.
    level = experiment.level ** max(1, len(experiment.hosts))
    return derived_spec(spec, experiment, found, {"fixed": rounds}, level, False)


def _others(experiment: Experiment, sides: Sides, sets: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
    """Return the excludes of all cells but those of the sides.

    Raises:
        SpecError: excludes cannot separate them.
    """
    own = [entry_of(side.benchmark) for side in sides]
    found: list[dict[str, Any]] = []
    for one in experiment.benchmarks:
        condition = entry_of(one.label)
        if condition in own or one.label == experiment.canary:
            continue
        if any(_includes(condition, benchmark) for benchmark in own):
            fix = "name all parameters of each benchmark of the spec"
            refuse(one.label, "a benchmark with the same parameters as the sides", "fewer", fix)
        found.append(condition)
    heaps = {heap_level(heap): _heap(heap) for heap in experiment.heaps}
    asked = [side.levels.get("heap") for side in sides]
    found += [condition for level, condition in heaps.items() if level not in asked]
    # Where the sides differ in several factors, other combinations are excluded, too.
    factors = [
        [
            benchmark,
            {"runtime": side.levels["runtime"]} if "runtime" in side.levels else {},
            {"collector": side.levels["collector"]} if "collector" in side.levels else {},
            heaps.get(side.levels.get("heap", ""), {}),
            {"modifiers": list(chosen)},
        ]
        for side, benchmark, chosen in zip(sides, own, sets, strict=True)
    ]
    differ = [pair for pair in zip(*factors, strict=True) if pair[0] != pair[1]]
    if len(differ) > 1:
        if not all(first and second for first, second in differ):
            fix = "compare sides that both have a collector and a heap, or differ in one factor only"
            refuse(f"{sides[0].name} and {sides[1].name}", "the same factors", "one has none", fix)
        for choice in product((0, 1), repeat=len(differ)):
            if 0 < sum(choice) < len(differ):
                parts = [pair[at] for pair, at in zip(differ, choice, strict=True)]
                found.append({key: value for part in parts for key, value in part.items()})
    return found


def _includes(condition: dict[str, Any], benchmark: dict[str, Any]) -> bool:
    """Return whether an exclude by a condition also excludes a benchmark."""
    given = condition.get("parameters", {}).items() <= benchmark.get("parameters", {}).items()
    return given and all(condition[key] == benchmark[key] for key in ("suite", "benchmark", "size"))


def _heap(heap: Heap) -> dict[str, Any]:
    return {"heap_mib": heap.mib} if heap.factor is None else {"heap_factor": heap.factor}


def check_same_programs(profiled: Folder, sides: Sides) -> None:
    """Raise StoreError if the profiled programs are not those of the experiment, because the spec has changed since."""
    for side in sides:
        wanted = [dict(side.levels), dict(side.profiled.levels)]
        for host in profiled.planned_hosts():
            known = side.cells.get(host)
            for cell in profiled.host_header(host)["cells"]:
                if known is None or dict(levels_of_planned(cell)) not in wanted:
                    continue
                if _program(cell) != _program(known):
                    fix = "run the experiment again: `regatta run SPEC`"
                    got = "another command, files or environment: the spec or the sources have changed"
                    raise StoreError(known["label"], "the program of the experiment", got, fix)


def _program(cell: PlanCell) -> tuple[Any, ...]:
    environment = {name: value for name, value in cell["environment"].items() if name != _JAVA_OPTIONS}
    return cell["argv"], cell["files"], environment, cell["heap_mib"]
