"""Build readable names of benchmarks, heaps, configurations and places."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from regatta.answers.spine.pairs import differing
from regatta.answers.spine.parts import Place, level_names
from regatta.answers.spine.samples import PlannedCell
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.cell import NO_MODIFIERS
from regatta.host.values.experiment import Heap, Scalar
from regatta.host.values.levels import ALWAYS, label_without, parameters_in
from regatta.host.values.template import scalar_text

#: order of the factors in short names; parameters come last
_ORDER = {
    factor: place for place, factor in enumerate(("benchmark", "runtime", "collector", "modifiers", "heap"))
}


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

        If several differ only in chosen parameters, append the parameters that differ: `lat_pipe parallel=2`. A label without
        parameters stands for all of them: `lat_pipe`.
        """
        if label in self._short:
            return self._short[label]
        heads = {known.partition(" ")[0] for known in self._short if _program(known) == _program(label)}
        return _program(label) if heads == {label} else label

    def place(
        self, cell: PlannedCell, parameters: Mapping[str, Scalar], compared: Collection[str] = ()
    ) -> str:
        """Return `h2 (size_bytes 4096), 2x minheap`, without the compared factors."""
        heap = "" if "heap" in compared else heap_words(cell.place.heap)
        return self._measured(cell, parameters, compared) + heap

    def _measured(
        self, cell: PlannedCell, parameters: Mapping[str, Scalar], compared: Collection[str] = ()
    ) -> str:
        """Return `h2 (size_bytes 4096)`; `benchmarks` if they are compared."""
        label = label_without(cell.place.benchmark, compared)
        name = f"benchmarks {label}".rstrip() if "benchmark" in compared else self.benchmark(label)
        # Parameters that are in the label are not repeated, and compared ones belong to the alternatives.
        shown = parts_of_label(label).chosen if name != _program(label) else {}
        hidden = parameters_in(compared)
        given = ", ".join(
            f"{key} {_show(value)}"
            for key, value in sorted(parameters.items())
            if key not in hidden and shown.get(key) != scalar_text(value)
        )
        return f"{name} ({given})" if given else name

    def series(self, cell: PlannedCell, parameters: Mapping[str, Scalar]) -> str:
        """Return `h2, 2x minheap (temurin-21 g1) on host alpha`; the host only if there are several."""
        named, host = cell.place.configuration, self.host(cell)
        place = self.place(cell, parameters) + (f" ({named})" if named else "")
        return place if host == "this host" else f"{place} on {host}"

    def where(
        self, cell: PlannedCell, parameters: Mapping[str, Scalar], compared: Collection[str] = ()
    ) -> str:
        """Return `h2, 2x minheap, temurin-21, alpha`: the start of a sentence; the host only if there are several.

        Args:
            compared: factors that the sentence names elsewhere.
        """
        return self._measured(cell, parameters, compared) + self.around(cell, compared)

    def around(self, cell: PlannedCell, compared: Collection[str] = ()) -> str:
        """Return `, 2x minheap, temurin-21, alpha`: the place without the benchmark."""
        heap = "" if "heap" in compared else heap_words(cell.place.heap)
        host = f", {cell.place.host}" if len(self._hosts) > 1 else ""
        return heap + self.within(cell, compared) + host

    def within(self, cell: PlannedCell, compared: Collection[str] = ()) -> str:
        """Return `, temurin-21 thp`: factors with several values that are the same in the compared alternatives."""
        parts = []
        if len(self._runtimes[cell.place.benchmark]) > 1 and "runtime" not in compared:
            parts.append(cell.place.runtime)
        if len(self._collectors[cell.place.benchmark]) > 1 and "collector" not in compared:
            parts.append(cell.place.collector)
        if cell.place.modifiers not in ("", NO_MODIFIERS) and "modifiers" not in compared:
            parts.append(cell.place.modifiers)
        return f", {' '.join(parts)}" if parts else ""

    def host(self, cell: PlannedCell) -> str:
        """Return `this host`, or the name if there are several."""
        return "this host" if len(self._hosts) == 1 else f"host {cell.place.host}"


def heap_words(heap: Heap) -> str:
    """Return `, 2x minheap`, `, 64 MiB heap`, or ""."""
    if heap.factor is not None:
        return f", {heap.factor:g}x minheap"
    return "" if heap.mib is None else f", {heap.mib} MiB heap"


def place_words(place: Place) -> str:
    """Return `apps/h2:small, 2x minheap, temurin-21 g1`: benchmark, heap and configuration."""
    return f"{place.benchmark}{heap_words(place.heap)}, {place.configuration}"


def short_names(a: PlannedCell, b: PlannedCell) -> tuple[str, str, set[str]]:
    """Name two alternatives by the factors in which they differ, and return these factors."""
    differ = differing(a, b)
    ordered = sorted(differ, key=lambda factor: (_ORDER.get(factor, len(_ORDER)), factor))
    one, other = _levels(a, b, ordered)
    return one or a.place.configuration, other or b.place.configuration, set(differ)


def full_names(a: PlannedCell, b: PlannedCell) -> tuple[str, str]:
    """Name two alternatives by their configurations, and by the other factors in which they differ."""
    one, other = _levels(a, b, sorted(factor for factor in differing(a, b) if factor not in ALWAYS))
    return f"{a.place.configuration} {one}".strip(), f"{b.place.configuration} {other}".strip()


def _levels(a: PlannedCell, b: PlannedCell, factors: Iterable[str]) -> tuple[str, str]:
    pairs = [level_names([a.place, b.place], factor) for factor in factors]
    one, other = (" ".join(pair[side] for pair in pairs if pair[side]) for side in (0, 1))
    return one, other


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
