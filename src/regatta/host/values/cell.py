"""A cell: benchmark x configuration x heap x host, with the exact command. Frozen, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from regatta.host.values.counters import Counted
from regatta.host.values.events import Events
from regatta.host.values.experiment import ONLY_ZERO, Benchmark, Heap, RoleReady
from regatta.host.values.isolation import CellIsolation
from regatta.host.values.plan_cell import PlanCell
from regatta.host.values.resolved import File

NO_MODIFIERS = "none"


#: placeholders: the file that a training run writes, and, in the command of that run, its path
TRAINED, OUTPUT = "{trained}", "{output}"
#: placeholder: the compilation plan of the benchmark on the runtime
PLAN = "{plan}"


@dataclass(frozen=True)
class TrainingRun:
    """The command that writes the file that the cell's command names `{trained}`. It contains `{output}`."""

    argv: tuple[str, ...]
    #: file name
    output: str


@dataclass(frozen=True)
class CellRole:
    """One of the programs of a cell that several hosts execute together."""

    name: str
    host: str
    #: can contain `{role.value}`, which is known when earlier roles are ready
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    files: tuple[File, ...]
    #: None: the last role
    ready: RoleReady | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the role as in the runner's plan."""
        role: dict[str, Any] = {
            "name": self.name,
            "host": self.host,
            "argv": list(self.argv),
            "environment": dict(self.environment),
            "files": [{"path": f.path, "sha256": f.sha256} for f in self.files],
        }
        if self.ready is not None:
            role["ready"] = {key: value for key, value in vars(self.ready).items() if value}
        return role


@dataclass(frozen=True)
class Cell:
    """A cell. `cell_id` is a hash of everything that determines its results."""

    cell_id: str
    host: str
    platform: str
    benchmark: Benchmark
    runtime: str
    #: "" if the cell has no collector
    collector: str
    #: names joined by "+", or "none"
    modifiers: str
    #: with its size; neither factor nor size: the cell has no heap
    heap: Heap
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    arrange: Mapping[str, str]
    check: tuple[str, ...]
    files: tuple[File, ...]
    #: None: no training run
    training: TrainingRun | None = None
    #: for A/A tests (`aa: true`): the cell that this one repeats under another name; "" otherwise
    twin_of: str = ""
    #: files of the working directory that are kept with the record
    keep: tuple[str, ...] = ()
    #: command to run before each invocation, not timed
    prepare: tuple[str, ...] = ()
    #: command to run after each invocation, not timed
    conclude: tuple[str, ...] = ()
    #: path of the standard input; "": `/dev/null`
    input: str = ""
    #: the recording of the events of the host; None: none
    events: Events | None = None
    counters: Counted = field(default_factory=Counted)
    #: in the order of their start; `argv` is that of the last one. Empty: one host executes the cell
    roles: tuple[CellRole, ...] = ()
    isolation: CellIsolation = field(default_factory=lambda: CellIsolation("cgroup"))

    @property
    def label(self) -> str:
        """Return the label to display: `vm/compress:s10 · temurin-21 g1 · 2x (24 MiB)`."""
        label = cell_label(self.benchmark.label, self.runtime, self.collector, self.modifiers, self.heap)
        return f"{label} (again)" if self.twin_of else label

    def to_json(self, timeout_s: float, iterations: int) -> PlanCell:
        """Return the cell as in the runner's plan.

        Args:
            timeout_s: time limit of an invocation; then it is killed.
            iterations: the value of `{iterations}`; a command with it must report this number of iterations.
        """
        benchmark = self.benchmark
        planned: PlanCell = {
            "cell_id": self.cell_id,
            "twin_of": self.twin_of,
            "label": self.label,
            "benchmark": benchmark.label,
            "kind": benchmark.kind,
            "runtime": self.runtime,
            "collector": self.collector,
            "modifiers": self.modifiers,
            "heap_factor": self.heap.factor,
            "heap_mib": self.heap.mib,
            "platform": self.platform,
            "metric": benchmark.metric,
            "better": benchmark.better,
            "summary": benchmark.summary,
            "argv": list(self.argv),
            "environment": dict(self.environment),
            "timeout_s": timeout_s,
            "iterations": iterations if any("{iterations}" in a for a in benchmark.command) else None,
            "adapter": {"name": benchmark.adapter, "options": dict(benchmark.adapter_options)},
            "expect": {
                "digest": benchmark.expect.digest,
                "stdout_sha256": benchmark.expect.stdout_sha256,
                "check_sha256": benchmark.expect.check_sha256,
            },
            "arrange": dict(self.arrange),
            "check": list(self.check),
            "keep": list(self.keep),
            "files": [{"path": f.path, "sha256": f.sha256} for f in self.files],
        }
        if benchmark.expect.exit_codes != ONLY_ZERO:
            planned["expect"]["exit_codes"] = list(benchmark.expect.exit_codes)
        if self.isolation.identity():
            planned["isolation"] = self.isolation.to_json()
        if self.prepare:
            planned["prepare"] = list(self.prepare)
        if self.conclude:
            planned["conclude"] = list(self.conclude)
        if self.input:
            planned["input"] = self.input
        if benchmark.output:
            planned["output"] = benchmark.output
        if self.events is not None:
            planned["events"] = self.events.to_json()
        if self.counters:
            planned["counters"] = self.counters.to_json()
        if self.roles:
            planned["roles"] = [role.to_json() for role in self.roles]
        if benchmark.directory:
            planned["directory"] = benchmark.directory
        return planned


def configuration_name(runtime: str, collector: str, modifiers: str) -> str:
    """Join runtime, collector and modifiers to one name, without empty parts."""
    return " ".join(part for part in (runtime, collector, modifiers) if part and part != NO_MODIFIERS)


def heap_text(factor: float | None, mib: float | None) -> str:
    """Format a heap as one word, for identities: `1.5x`, `64MiB`; "" for none."""
    if factor is not None:
        return f"{factor:g}x"
    return "" if mib is None else f"{mib:g}MiB"


def heap_label(heap: Heap) -> str:
    """Format a heap for people: `1.5x (96 MiB)`, `1.5x`, `96 MiB`; "" for none."""
    size = "" if heap.mib is None else f"{heap.mib:,} MiB"
    if heap.factor is None:
        return size
    return f"{heap.factor:g}x ({size})" if size else f"{heap.factor:g}x"


def cell_label(benchmark: str, runtime: str, collector: str, modifiers: str, heap: Heap) -> str:
    """Join the existing parts in the order benchmark · configuration · heap."""
    parts = (benchmark, configuration_name(runtime, collector, modifiers), heap_label(heap))
    return " · ".join(parts if parts[2] else parts[:2])
