"""Select the benchmarks of a spec from its suites."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

from regatta.host.errors import Problem
from regatta.host.values.experiment import Benchmark, Scalar
from regatta.host.values.template import placeholders
from regatta.spec.fields import MAX_ITEMS, value_text
from regatta.spec.plan_size import MAX_CELLS
from regatta.spec.problems import Reporter, shown, unknown
from regatta.spec.registries import read_registry
from regatta.spec.spec_schema import BenchmarkChoice, Spec
from regatta.spec.suites import Suite, check_suite, resolve_benchmark
from regatta.spec.yaml_lines import Budget, Document, KeyPath


class Chooser(Reporter):
    """Reads the suites of a spec and resolves its benchmarks."""

    def __init__(
        self,
        document: Document,
        spec: Spec,
        item: Callable[[str, int], KeyPath],
        home: Path,
        folder: Path,
        problems: list[Problem],
    ) -> None:
        super().__init__(document, problems)
        self.spec = spec
        self.item = item
        self.folder = home / "configs" / "suites"
        self.beside = folder
        #: suite -> its content; None: it is invalid
        self.suites: dict[str, Suite | None] = {}
        #: some benchmarks could not be resolved, so checks of the complete list are skipped
        self.incomplete = False

    def benchmarks(self) -> list[Benchmark]:
        """Return all selected benchmarks in the spec's order, with unique labels."""
        self.read_extra()
        found: dict[tuple[object, ...], Benchmark] = {}
        for index, choice in enumerate(self.spec.benchmarks):
            path = self.item("benchmarks", index)
            suite = self.suite(choice.suite, path)
            if suite is None:
                self.incomplete = True
                continue
            for benchmark in self.chosen(suite, choice, path):
                key = _identity(benchmark)
                if key in found:
                    chosen = benchmark.chosen or found[key].chosen
                    parts = "benchmark, size and parameters" if chosen else "benchmark and size"
                    expected = f"unique combinations of {parts}"
                    self.report(path, expected, f"duplicate {benchmark.label}", "remove one")
                found[key] = benchmark
            if len(found) > MAX_CELLS:
                where, expected = self.document.where(path), f"at most {MAX_CELLS:,} benchmarks"
                got = f"at least {len(found):,}"
                self.refuse(Problem(where, expected, got, "reduce the values, or split the spec"))
                break
        return list(found.values())

    def canary(self, others: Sequence[Benchmark]) -> Benchmark | None:
        """Return the frozen program of the spec, which must be one native benchmark besides `others`; None: none, or invalid."""
        choice, path = self.spec.canary, ("canary",)
        suite = None if choice is None else self.suite(choice.suite, path)
        if choice is None or suite is None:
            return None
        found = self.chosen(suite, choice, path)
        if len(found) > 1:
            self.report(
                path, "one benchmark", f"{len(found)}: {', '.join(b.label for b in found)}", "choose one"
            )
        for benchmark in found:
            if benchmark.kind != "native" or benchmark.roles:
                expected = "a native benchmark on one host, whose program is the same whatever is compared"
                self.report(
                    path,
                    expected,
                    f"{benchmark.label} ({benchmark.kind})",
                    "write `{suite: canary, benchmark: mixed}`",
                )
            if benchmark.label in {other.label for other in others}:
                self.report(
                    path, "a benchmark that is not in `benchmarks`", benchmark.label, "remove it there"
                )
        return found[0] if len(found) == 1 else None

    def read_extra(self) -> None:
        """Read the suite files that the spec lists."""
        budget = Budget()
        for index, text in enumerate(self.spec.suites):
            path = self.item("suites", index)
            file = self.beside / text
            if not file.is_file():
                self.report(path, "a suite file, relative to the spec", shown(text), "correct the path")
                self.incomplete = True
                continue
            before = len(self.problems)
            document = read_registry(file, self.problems, budget)
            suite = document and check_suite(document, self.problems, root=str(file.parent.resolve()))
            if not suite:
                self.incomplete = True
                if budget.spent:
                    return
                raw = document.value.get("suite") if document and isinstance(document.value, dict) else None
                if isinstance(raw, str):
                    self.suites[raw] = None
                continue
            name = suite.model.suite
            if name in self.suites or name in self.names():
                self.report(path, "a unique suite name", shown(name), "rename the suite")
            self.suites[name] = suite if len(self.problems) == before else None

    def names(self) -> list[str]:
        """Return the suites of the home."""
        return sorted(file.stem for file in self.folder.glob("*.yml")) if self.folder.is_dir() else []

    def suite(self, name: str, path: KeyPath) -> Suite | None:
        """Return one suite by name; None if it is missing or invalid, which is reported once."""
        if name in self.suites:
            return self.suites[name]
        known = self.names()
        if name not in known:
            self.report_unknown((*path, "suite"), "a suite", name, [*known, *self.suites])
            return None
        before = len(self.problems)
        document = read_registry(self.folder / f"{name}.yml", self.problems)
        suite = document and check_suite(document, self.problems, name)
        self.suites[name] = suite if suite and len(self.problems) == before else None
        return self.suites[name]

    def chosen(self, suite: Suite, choice: BenchmarkChoice, path: KeyPath) -> list[Benchmark]:
        """Return the benchmarks of one entry."""
        table = suite.model.benchmarks
        names = list(table) if choice.benchmark == ["all"] else choice.benchmark
        found: list[Benchmark] = []
        for index, name in enumerate(names):
            if name not in table:
                what = f"a benchmark of suite `{suite.model.suite}`"
                self.report_unknown(self.inner(path, "benchmark", index), what, name, [*table, "all"])
                self.incomplete = True
                continue
            for place, size in enumerate(choice.size):
                if size not in table[name].sizes:
                    what = f"a size of `{suite.model.suite}/{name}`"
                    self.report_unknown(self.inner(path, "size", place), what, size, table[name].sizes)
                    self.incomplete = True
                    continue
                found += self.crossed(suite, choice, name, size, path)
        return found

    def crossed(
        self, suite: Suite, choice: BenchmarkChoice, name: str, size: str, path: KeyPath
    ) -> list[Benchmark]:
        """Return one benchmark and size with every combination of the selected parameters."""
        label = f"{suite.model.suite}/{name}:{size}"
        has = suite.model.benchmarks[name].sizes[size].parameters
        unknown_ones = [given for given in choice.parameters if given not in has]
        for given in unknown_ones:
            where = self.document.where((*path, "parameters", given))
            self.refuse(unknown(where, f"a parameter of `{label}`", given, has))
        many = math.prod(len(values) for values in choice.parameters.values())
        if many > MAX_ITEMS:
            where = self.document.where((*path, "parameters"))
            self.refuse(Problem(where, f"at most {MAX_ITEMS} combinations", str(many), "reduce the values"))
        if unknown_ones or many > MAX_ITEMS:
            return []
        found = [
            resolve_benchmark(
                suite, name, size, self.problems, dict(zip(choice.parameters, values, strict=True))
            )
            for values in product(*choice.parameters.values())
        ]
        for given in set(choice.parameters) - _used(found[0]):
            where = self.document.where((*path, "parameters", given))
            expected = f"a parameter used by a command, an input or a file of `{label}`"
            self.refuse(Problem(where, expected, f"unused parameter {shown(given)}", "remove it"))
        return found

    def refuse(self, problem: Problem) -> None:
        """Add a problem of a key once, though every benchmark and size of an entry has it."""
        self.incomplete = True
        if problem.where not in {other.where for other in self.problems}:
            self.problems.append(problem)

    def inner(self, path: KeyPath, key: str, index: int) -> KeyPath:
        """Return the path of a name in a list, or of a single name in place of a list."""
        entry = self.document.value[path[0]]
        entry = entry[path[1]] if len(path) > 1 else entry
        return (*path, key, index) if isinstance(entry.get(key), list) else (*path, key)


def _identity(benchmark: Benchmark) -> tuple[object, ...]:
    """Return the identity of a measurement. Its parameters count, not whether size or spec sets them."""
    parameters: dict[str, Scalar] = dict(benchmark.parameters)
    texts = frozenset((name, value_text(value)) for name, value in parameters.items())
    return benchmark.suite, benchmark.name, benchmark.size, texts


def _used(benchmark: Benchmark) -> set[str]:
    """Return the names in a benchmark's templates."""
    commands = (benchmark.command, *benchmark.commands.values(), *benchmark.making)
    templates = [*(word for command in commands for word in command), *benchmark.beside]
    return {name for template in templates for name in placeholders(template)}
