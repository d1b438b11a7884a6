"""Check that `exclude` and `baseline` select things that the spec uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from regatta.host.errors import Problem
from regatta.host.values.cell import NO_MODIFIERS
from regatta.host.values.experiment import Benchmark, Exclude, Heap, Modifier
from regatta.host.values.levels import (
    ALWAYS,
    PARAMETERS,
    components,
    heap_level,
    label_without,
    parameters_in,
)
from regatta.host.values.template import scalar_text
from regatta.spec.problems import Reporter
from regatta.spec.spec_schema import BaselineSpec, ExcludeSpec
from regatta.spec.yaml_lines import Document, KeyPath

ModifierSet = tuple[Modifier, ...]


def modifiers_label(names: Sequence[str]) -> str:
    """Return the name of a set of modifiers in results: `a+b`, or `none`."""
    return "+".join(names) or NO_MODIFIERS


@dataclass(frozen=True)
class Used:
    """Names that a spec uses. None: a part of the list is invalid, so it cannot be checked."""

    benchmarks: list[Benchmark] | None
    modifiers: list[ModifierSet] | None
    runtimes: list[str] | None
    collectors: list[str] | None
    hosts: list[str] | None
    platforms: list[str] | None
    heap_factors: list[Decimal] | None
    heap_sizes_mib: list[int] | None


class Selector(Reporter):
    """Resolves the selections of one spec; each unresolved one becomes a problem."""

    def __init__(self, document: Document, used: Used, problems: list[Problem]) -> None:
        super().__init__(document, problems)
        self.used = used

    def compared_parameters(self, compare: Sequence[str], path_of: Callable[[str, int], KeyPath]) -> None:
        """Check that the parameters to compare are parameters of the spec."""
        if self.used.benchmarks is None:
            return
        known = sorted({name for benchmark in self.used.benchmarks for name in benchmark.chosen})
        for index, factor in enumerate(compare):
            for name in parameters_in([factor]) - set(known):
                what = "a parameter that `benchmarks` in the spec sets"
                self.report_unknown(path_of("compare", index), what, name, known)

    def baseline(self, given: BaselineSpec, compare: Sequence[str]) -> dict[str, str]:
        """Return factor -> level of the baseline.

        Args:
            given: baseline of the spec.
            compare: factors that the spec compares.
        """
        used = self.used
        self.one_of(("baseline", "runtime"), "runtimes", given.runtime, used.runtimes)
        self.one_of(("baseline", "collector"), "collectors", given.collector, used.collectors)
        self.one_of(("baseline", "platform"), "platforms", given.platform, used.platforms)
        wanted = {
            "runtime": given.runtime,
            "collector": given.collector,
            "modifiers": self.label(("baseline", "modifiers"), given.modifiers),
            "heap": self._heap(given.heap),
            "benchmark": self._program(given.benchmark),
            "platform": given.platform,
        }
        for name, value in (given.parameters or {}).items():
            wanted[PARAMETERS + name] = scalar_text(value)
            if used.benchmarks is not None:
                values = [scalar_text(b.chosen[name]) for b in used.benchmarks if name in b.chosen]
                path = ("baseline", "parameters", name)
                self.one_of(path, f"values of `{name}`", scalar_text(value), dict.fromkeys(values))
        found = {factor: level for factor, level in wanted.items() if level is not None}
        for factor in found:
            if factor not in (*ALWAYS, *components(compare)):
                names = ", ".join(dict.fromkeys((*compare, factor)))
                place = ("baseline", *factor.split(".", 1))
                fix = f"write `compare: [{names}]`"
                self.report(place, "a factor that `compare` names", repr(factor), fix)
        return found

    def _heap(self, value: Decimal | None) -> str | None:
        used = self.used
        if value is None or used.heap_factors is None or used.heap_sizes_mib is None:
            return None
        sizes = [Decimal(size) for size in used.heap_sizes_mib]
        self.one_of(("baseline", "heap"), "heaps", value, [*used.heap_factors, *sizes])
        return heap_level(Heap(mib=int(value)) if value in sizes else Heap(float(value)))

    def _program(self, name: str | None) -> str | None:
        """Return the label without parameters of the benchmark with this name or label."""
        if name is None or self.used.benchmarks is None:
            return None
        labels = {
            label_without(b.label, [PARAMETERS + p for p in b.chosen]): b.name for b in self.used.benchmarks
        }
        found = [label for label, own in labels.items() if name in (label, own)]
        if len(found) == 1:
            return found[0]
        path = ("baseline", "benchmark")
        if found:
            self.report(path, "one benchmark", repr(name), f"write one of {', '.join(found)}")
        else:
            known = [*labels, *labels.values()]
            self.report_unknown(path, "one of the benchmarks in the spec", name, known)
        return None

    def exclude(self, given: ExcludeSpec, path: KeyPath) -> list[Exclude]:
        """Return the excludes of one entry at `path`: one for each benchmark that it names."""
        used = self.used
        self.one_of((*path, "runtime"), "runtimes", given.runtime, used.runtimes)
        self.one_of((*path, "collector"), "collectors", given.collector, used.collectors)
        self.one_of((*path, "host"), "hosts", given.host, used.hosts)
        self.one_of((*path, "heap_mib"), "heap sizes", given.heap_mib, used.heap_sizes_mib)
        self.one_of((*path, "heap_factor"), "heap factors", given.heap_factor, used.heap_factors)
        label = self.label((*path, "modifiers"), given.modifiers)
        return [
            Exclude(
                benchmark=benchmark,
                runtime=given.runtime,
                collector=given.collector,
                modifiers=label,
                heap=Heap(None if given.heap_factor is None else float(given.heap_factor), given.heap_mib),
                host=given.host,
            )
            for benchmark in self.benchmarks(given, path)
        ]

    def one_of(
        self,
        path: KeyPath,
        what: str,
        value: str | int | Decimal | None,
        used: Iterable[str | int | Decimal] | None,
    ) -> None:
        """Add a problem if the spec does not use a value."""
        if value is None or used is None or value in (choices := list(used)):
            return
        self.report_unknown(path, f"one of the {what} in the spec", _text(value), map(_text, choices))

    def label(self, path: KeyPath, names: Sequence[str] | None) -> str | None:
        """Return the label of the set of modifiers `names`, in any order."""
        if names is None or self.used.modifiers is None:
            return None
        sets = [[modifier.name for modifier in entry] for entry in self.used.modifiers]
        for entry in sets:
            if set(entry) == set(names):
                return modifiers_label(entry)
        self.one_of(path, "sets of modifiers", modifiers_label(names), map(modifiers_label, sets))
        return None

    def benchmarks(self, given: ExcludeSpec, path: KeyPath) -> list[str | None]:
        """Return the labels of an exclude's benchmarks; one None if it names no benchmark."""
        wanted = {"suite": given.suite, "benchmark": given.benchmark, "size": given.size}
        named: dict[tuple[str, ...], str] = {
            (key,): value for key, value in wanted.items() if value is not None
        }
        values = given.parameters or {}
        named |= {("parameters", name): scalar_text(value) for name, value in values.items()}
        if not named:
            return [None]
        chosen = self.used.benchmarks
        if chosen is None:
            return []
        parts = {benchmark.label: _parts(benchmark) for benchmark in chosen}
        labels = [label for label, part in parts.items() if named.items() <= part.items()]
        if labels:
            return list(labels)
        before = len(self.problems)
        for key, value in named.items():
            of = [part[key] for part in parts.values() if key in part]
            if of:
                self.one_of(
                    (*path, *key), f"{key[-1]}s" if len(key) == 1 else f"values of `{key[-1]}`", value, of
                )
            else:
                names = {name for part in parts.values() for _, *rest in part for name in rest}
                what = "a parameter of the benchmarks of the spec"
                self.report_unknown((*path, *key), what, key[-1], names)
        if len(self.problems) == before:
            of_spec = "benchmark, size and parameters" if values else "benchmark and size"
            self.report_unknown(
                path, f"a combination of {of_spec} in the spec", " ".join(named.values()), parts
            )
        return []


def _parts(benchmark: Benchmark) -> dict[tuple[str, ...], str]:
    """Return the parts of a benchmark that an exclude can name, by their keys."""
    named: dict[tuple[str, ...], str] = {
        ("suite",): benchmark.suite,
        ("benchmark",): benchmark.name,
        ("size",): benchmark.size,
    }
    named |= {("parameters", key): scalar_text(value) for key, value in benchmark.parameters.items()}
    return named


def _text(value: str | int | Decimal) -> str:
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)
