"""Build readable names of benchmarks, heaps, configurations and places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from regatta.answers.samples import PlannedCell
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.cell import NO_MODIFIERS
from regatta.host.values.experiment import Heap, Scalar
from regatta.host.values.template import scalar_text


class Names:
    """Names that are short but unique in one experiment."""

    def __init__(self, cells: Iterable[PlannedCell]) -> None:
        cells = list(cells)
        self._hosts = {cell.place.host for cell in cells}
        self._runtimes: dict[str, set[str]] = {}
        self._collectors: dict[str, set[str]] = {}
        labels: dict[str, set[str]] = {}
        for cell in cells:
            labels.setdefault(_program(cell.place.benchmark), set()).add(cell.place.benchmark)
            self._runtimes.setdefault(cell.place.benchmark, set()).add(cell.place.runtime)
            self._collectors.setdefault(cell.place.benchmark, set()).add(cell.place.collector)
        self._short = {label: short for full in labels.values() for label, short in _shortened(full).items()}

    def benchmark(self, label: str) -> str:
        """Return `h2` for `apps/h2:small`, if no other benchmark of the experiment has that name.

        If several differ only in chosen parameters, append the parameters that differ: `lat_pipe parallel=2`.
        """
        return self._short.get(label, label)

    def place(self, cell: PlannedCell, parameters: Mapping[str, Scalar]) -> str:
        """Return `h2 (size_bytes 4096) at 2 x minheap`."""
        name = self.benchmark(cell.place.benchmark)
        # Parameters that are in the label are not repeated.
        said = parts_of_label(cell.place.benchmark).chosen if name != _program(cell.place.benchmark) else {}
        given = ", ".join(
            f"{key} {_show(value)}"
            for key, value in sorted(parameters.items())
            if said.get(key) != scalar_text(value)
        )
        return (f"{name} ({given})" if given else name) + heap_words(cell.place.heap)

    def series(self, cell: PlannedCell, parameters: Mapping[str, Scalar]) -> str:
        """Return `h2 at 2 x minheap (temurin-21 g1) on host alpha`; the host only if there are several."""
        named, host = cell.place.configuration, self.host(cell)
        place = self.place(cell, parameters) + (f" ({named})" if named else "")
        return place if host == "this host" else f"{place} on {host}"

    def within(self, cell: PlannedCell, told: Iterable[str] = ()) -> str:
        """Return `, temurin-21 with thp`: the factors that stay the same and are not in the names of the alternatives."""
        told = set(told)
        parts = []
        if len(self._runtimes[cell.place.benchmark]) > 1 and "runtime" not in told:
            parts.append(cell.place.runtime)
        if len(self._collectors[cell.place.benchmark]) > 1 and "collector" not in told:
            parts.append(cell.place.collector)
        if cell.place.modifiers != NO_MODIFIERS and "modifiers" not in told:
            parts.append(f"with {cell.place.modifiers}")
        return f", {' '.join(parts)}" if parts else ""

    def host(self, cell: PlannedCell) -> str:
        """Return `this host`, or the name if there are several."""
        return "this host" if len(self._hosts) == 1 else f"host {cell.place.host}"


def heap_words(heap: Heap) -> str:
    """Return ` at 2 x minheap`, ` in a heap of 64 MiB`, or ""."""
    if heap.factor is not None:
        return f" at {heap.factor:g} x minheap"
    return "" if heap.mib is None else f" in a heap of {heap.mib} MiB"


def short_names(a: PlannedCell, b: PlannedCell) -> tuple[str, str, set[str]]:
    """Name two alternatives by the factors in which they differ, and return these factors."""
    differ = {
        factor
        for factor in ("runtime", "collector", "modifiers")
        if getattr(a.place, factor) != getattr(b.place, factor)
    }

    def name(cell: PlannedCell) -> str:
        parts = [
            cell.place.runtime if "runtime" in differ else "",
            cell.place.collector if "collector" in differ else "",
        ]
        if "modifiers" in differ:
            parts.append("no modifiers" if cell.place.modifiers == NO_MODIFIERS else cell.place.modifiers)
        return " ".join(part for part in parts if part) or cell.place.configuration

    return name(a), name(b), differ


def _shortened(labels: set[str]) -> dict[str, str]:
    """Shorten the labels of one program to the parameters that differ; keep whole labels if more than parameters differ."""
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
