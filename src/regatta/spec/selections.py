"""Check that `exclude` and `baseline` select things that the spec uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from regatta.host.errors import Problem
from regatta.host.values.cell import NO_MODIFIERS
from regatta.host.values.experiment import Baseline, Benchmark, Exclude, Modifier
from regatta.host.values.template import scalar_text
from regatta.spec.problems import unknown
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
    heap_factors: list[Decimal] | None
    heap_sizes_mib: list[int] | None


class Selector:
    """Resolves the selections of one spec; each unresolved one becomes a problem."""

    def __init__(self, document: Document, used: Used, problems: list[Problem]) -> None:
        self.document = document
        self.used = used
        self.problems = problems

    def baseline(self, given: BaselineSpec) -> Baseline:
        """Return the baseline, with the label of its set of modifiers."""
        self.one_of(("baseline", "runtime"), "runtimes", given.runtime, self.used.runtimes)
        self.one_of(("baseline", "collector"), "collectors", given.collector, self.used.collectors)
        return Baseline(
            given.runtime, given.collector, self.label(("baseline", "modifiers"), given.modifiers)
        )

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
                heap_factor=None if given.heap_factor is None else float(given.heap_factor),
                heap_mib=given.heap_mib,
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
        where = self.document.where(path)
        self.problems.append(unknown(where, f"one of the spec's {what}", _text(value), map(_text, choices)))

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
                where = self.document.where((*path, *key))
                self.problems.append(unknown(where, "a parameter of the spec's benchmarks", key[-1], names))
        if len(self.problems) == before:
            where = self.document.where(path)
            expected = "a benchmark and size that the spec chooses together"
            if values:
                expected = "a benchmark, size and parameters that the spec chooses together"
            self.problems.append(unknown(where, expected, " ".join(named.values()), parts))
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
