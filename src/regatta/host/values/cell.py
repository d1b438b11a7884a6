"""A cell: benchmark x configuration x heap x host, with the exact command. Frozen, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.host.values.experiment import Benchmark
from regatta.host.values.isolation import CellIsolation
from regatta.host.values.plan_cell import PlanCell
from regatta.host.values.resolved import File

NO_MODIFIERS = "none"


#: what stands in a command for the file that a training run leaves, and, in that run's command, for where it is to be
TRAINED, OUTPUT = "{trained}", "{output}"


@dataclass(frozen=True)
class TrainingRun:
    """The command that makes the file which a cell's own command names `{trained}`; it holds `{output}`."""

    argv: tuple[str, ...]
    #: the file's name
    output: str


@dataclass(frozen=True)
class Cell:
    """One thing that is measured. `cell_id` is a hash of all that makes its numbers what they are."""

    cell_id: str
    host: str
    platform: str
    benchmark: Benchmark
    runtime: str
    #: "" where there is none
    collector: str
    #: names joined by "+", or "none"
    modifiers: str
    heap_factor: float | None
    heap_mib: int | None
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    arrange: Mapping[str, str]
    check: tuple[str, ...]
    files: tuple[File, ...]
    #: None: nothing is to be made before it is measured
    training: TrainingRun | None = None
    #: the cell that this one repeats under another name, to test the whole pipeline (`aa: true`); "" for all others
    twin_of: str = ""
    #: files of the working directory that are kept beside the record
    keep: tuple[str, ...] = ()
    isolation: CellIsolation = field(default_factory=lambda: CellIsolation("cgroup"))

    @property
    def label(self) -> str:
        """What people call it: `vm/compress:s10 · temurin-21 g1 · 24 MiB (2x)`."""
        label = cell_label(
            self.benchmark.label,
            self.runtime,
            self.collector,
            self.modifiers,
            self.heap_factor,
            self.heap_mib,
        )
        return f"{label} (again)" if self.twin_of else label

    def to_json(self, timeout_s: float, iterations: int) -> PlanCell:
        """The cell as the runner's plan holds it.

        Args:
            timeout_s: after which an invocation is killed.
            iterations: what `{iterations}` stands for; a command that has it must report as many.
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
            "heap_factor": self.heap_factor,
            "heap_mib": self.heap_mib,
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
        if self.isolation.identity():
            planned["isolation"] = self.isolation.to_json()
        return planned


def configuration_name(runtime: str, collector: str, modifiers: str) -> str:
    """Runtime, collector and modifiers as one name, without those that there are none of."""
    return " ".join(part for part in (runtime, collector, modifiers) if part and part != NO_MODIFIERS)


def heap_text(factor: float | None, mib: float | None) -> str:
    """Write a heap as one word: `1.5x`, `64MiB`; "" for none."""
    if factor is not None:
        return f"{factor:g}x"
    return "" if mib is None else f"{mib:g}MiB"


def cell_label(
    benchmark: str,
    runtime: str,
    collector: str,
    modifiers: str,
    heap_factor: float | None,
    heap_mib: int | None,
) -> str:
    """Name the parts that are there, in the order benchmark · configuration · heap."""
    configuration = configuration_name(runtime, collector, modifiers)
    heap = "" if heap_mib is None else f" · {heap_mib} MiB" + (f" ({heap_factor:g}x)" if heap_factor else "")
    return f"{benchmark} · {configuration}{heap}"
