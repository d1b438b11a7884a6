"""How people name what is compared: benchmarks, heaps, configurations, places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from regatta.answers.result import CellAnswer
from regatta.answers.samples import PlannedCell
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.cell import NO_MODIFIERS, configuration_name
from regatta.host.values.experiment import Scalar
from regatta.host.values.template import scalar_text


class Names:
    """Short names that are still unique in one experiment."""

    def __init__(self, cells: Iterable[PlannedCell]) -> None:
        cells = list(cells)
        self._hosts = {cell.host for cell in cells}
        self._runtimes: dict[str, set[str]] = {}
        self._collectors: dict[str, set[str]] = {}
        labels: dict[str, set[str]] = {}
        for cell in cells:
            labels.setdefault(_program(cell.benchmark), set()).add(cell.benchmark)
            self._runtimes.setdefault(cell.benchmark, set()).add(cell.runtime)
            self._collectors.setdefault(cell.benchmark, set()).add(cell.collector)
        self._short = {label: short for full in labels.values() for label, short in _shortened(full).items()}

    def benchmark(self, label: str) -> str:
        """`h2` for `apps/h2:small`, when no other benchmark of the experiment is called so.

        Where several are that differ in chosen parameters alone, with those that differ: `lat_pipe parallel=2`.
        """
        return self._short.get(label, label)

    def place(self, cell: PlannedCell, parameters: Mapping[str, Scalar]) -> str:
        """`h2 (size_bytes 4096) at 2 x minheap`."""
        name = self.benchmark(cell.benchmark)
        # What a whole label says of the parameters is not said again.
        said = parts_of_label(cell.benchmark).chosen if name != _program(cell.benchmark) else {}
        given = ", ".join(
            f"{key} {_show(value)}"
            for key, value in sorted(parameters.items())
            if said.get(key) != scalar_text(value)
        )
        return (f"{name} ({given})" if given else name) + heap_words(cell)

    def within(self, cell: PlannedCell, told: Iterable[str] = ()) -> str:
        """`, temurin-21 with thp`: what stays the same and is not told by the alternatives' names."""
        told = set(told)
        parts = []
        if len(self._runtimes[cell.benchmark]) > 1 and "runtime" not in told:
            parts.append(cell.runtime)
        if len(self._collectors[cell.benchmark]) > 1 and "collector" not in told:
            parts.append(cell.collector)
        if cell.modifiers != NO_MODIFIERS and "modifiers" not in told:
            parts.append(f"with {cell.modifiers}")
        return f", {' '.join(parts)}" if parts else ""

    def host(self, cell: PlannedCell) -> str:
        """`this host`, or its name where there are several."""
        return "this host" if len(self._hosts) == 1 else f"host {cell.host}"


def heap_words(cell: PlannedCell | CellAnswer) -> str:
    """` at 2 x minheap`, ` in a heap of 64 MiB`, or nothing."""
    if cell.heap_factor is not None:
        return f" at {cell.heap_factor:g} x minheap"
    if cell.heap_mib is not None:
        return f" in a heap of {cell.heap_mib} MiB"
    return ""


def configuration(cell: PlannedCell) -> str:
    """Runtime, collector and modifiers as one name, as `CellAnswer.configuration` says it."""
    return configuration_name(cell.runtime, cell.collector, cell.modifiers)


def short_names(a: PlannedCell, b: PlannedCell) -> tuple[str, str, set[str]]:
    """Name two alternatives by the factors in which they differ, and say which those are."""
    differ = {
        factor for factor in ("runtime", "collector", "modifiers") if getattr(a, factor) != getattr(b, factor)
    }

    def name(cell: PlannedCell) -> str:
        parts = [cell.runtime if "runtime" in differ else "", cell.collector if "collector" in differ else ""]
        if "modifiers" in differ:
            parts.append("no modifiers" if cell.modifiers == NO_MODIFIERS else cell.modifiers)
        return " ".join(part for part in parts if part) or configuration(cell)

    return name(a), name(b), differ


def _shortened(labels: set[str]) -> dict[str, str]:
    """The labels of one program, each with as little as tells it from the others; whole where that is more than chosen parameters."""
    parts = {label: parts_of_label(label) for label in labels}
    if len(labels) == 1:
        return {label: one.name for label, one in parts.items()}
    first = next(iter(parts.values()))
    if any(
        (one.suite, one.size, set(one.chosen)) != (first.suite, first.size, set(first.chosen))
        for one in parts.values()
    ):
        return {label: label for label in labels}
    varying = sorted(key for key in first.chosen if len({one.chosen[key] for one in parts.values()}) > 1)
    return {
        label: " ".join([one.name, *(f"{key}={one.chosen[key]}" for key in varying)])
        for label, one in parts.items()
    }


def _program(label: str) -> str:
    return parts_of_label(label).name


def _show(value: Scalar) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
