"""Import a ReBench configuration: one spec per experiment, and more if its benchmarks differ in their repetitions.

An executor is the start of its benchmarks' commands, so each pair of suite and executor becomes a suite.
Source of the format: ReBench's documentation and rebench-schema.yml (1.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.host.errors import Problem, SpecError
from regatta.imports.drafts import Imported, SpecDraft
from regatta.imports.names import Names, clean
from regatta.imports.reader import Reader
from regatta.imports.rebench_settings import Layers, Settings
from regatta.imports.rebench_suites import Chosen, Maker
from regatta.imports.yaml_1_1 import read_yaml_1_1
from regatta.spec.yaml_lines import KeyPath, as_text

_OUTPUT_KIB = 1024
_UNUSED = "no experiment uses it"
_TOP = {
    "default_data_file": ("records go to results/<experiment>/journal", "`regatta records` prints them"),
    "build_log": ("logs go to results/<experiment>/logs", ""),
    "artifact_review": ("it silences ReBench's own warnings", ""),
    "reporting": (
        "Regatta reports to no ReBenchDB or Codespeed",
        "`regatta history` tells what shifted since when",
    ),
    "machines": ("a machine is chosen on ReBench's command line", "move its keys to `runs` before importing"),
}
_EXPERIMENT = {
    "data_file": _TOP["default_data_file"],
    "reporting": _TOP["reporting"],
}


@dataclass(frozen=True)
class _Experiment:
    name: str
    path: KeyPath


def import_rebench(path: Path, home: Path) -> Imported:
    """Import a ReBench configuration.

    Args:
        path: the file.
        home: folder with `configs/`, whose names are taken.

    Returns:
        the specs, that of the default experiment first.

    Raises:
        SpecError: the file is wrong, or no part of it can be imported.
    """
    document = read_yaml_1_1(path)
    if not isinstance(document.value, dict):
        raise SpecError(
            [Problem(document.where(()), "a ReBench configuration", "no mapping", "experiments: ...")]
        )
    return _Importer(Reader(document), path, home).imported()


class _Importer:
    def __init__(self, reader: Reader, path: Path, home: Path) -> None:
        self.reader = reader
        self.ledger = reader.ledger
        self.path = path
        self.maker = Maker(reader, path.resolve().parent, home)
        self.specs: list[SpecDraft] = []

    def imported(self) -> Imported:
        self.reader.leave((), _TOP)
        if self.reader.has(("virtual_machines",)):
            fix = "`executors`, `executable`, `suites`, `invocations`: see ReBench's changelog"
            self.ledger.problem(
                ("virtual_machines",), "the keys of ReBench 1.0 and later", "virtual_machines", fix
            )
            self.reader.refuse()
        self.reader.mapping(("benchmark_suites",), "benchmark suites")
        self.reader.mapping(("executors",), "executors")
        for experiment in self.experiments():
            self.add(experiment)
        self.reader.refuse()
        self.anchors()
        items = self.ledger.close(_explain)
        if not self.specs:
            expected = "an experiment of which something can be carried over"
            raise self.reader.nothing(("experiments",), expected, items)
        return Imported(str(self.path), "ReBench", self.specs, items)

    def experiments(self) -> Iterator[_Experiment]:
        """Yield the experiments, the default one first."""
        table = self.reader.mapping(("experiments",), "experiments")
        default = self.reader.text(("default_experiment",)) or "all"
        self.ledger.carry(("default_experiment",))
        if default != "all":
            self.reader.one_of(("default_experiment",), "an experiment, or `all`", default, table)
        for name in sorted(table, key=lambda name: name != default):
            path: KeyPath = ("experiments", name)
            if self.reader.mapping(path, "an experiment"):
                yield _Experiment(name, path)

    def add(self, experiment: _Experiment) -> None:
        """Add the specs of one experiment."""
        reader, path = self.reader, experiment.path
        reader.leave(path, _EXPERIMENT)
        action = reader.text((*path, "action")) or "benchmark"
        if action == "profile":
            self.ledger.leave(
                path,
                "it profiles, and Regatta measures",
                "`perf record` by hand, on a command that `regatta explain` prints",
            )
            return
        if reader.has((*path, "action")) and reader.one_of(
            (*path, "action"), "an action", action, ["benchmark", "profile"]
        ):
            self.ledger.carry((*path, "action"))
        groups: dict[tuple[int, int, int], list[tuple[Chosen, Settings]]] = {}
        for chosen, settings in self.chosen(experiment):
            several = self.maker.gauge(chosen.suite).lines
            inner = (settings.iterations, settings.warmup) if several else (1, 0)
            self.repetitions(chosen, settings, several)
            groups.setdefault((settings.invocations, *inner), []).append((chosen, settings))
        for repetitions, members in groups.items():
            self.add_spec(experiment, repetitions, members, len(groups) > 1)

    def repetitions(self, chosen: Chosen, settings: Settings, several: bool) -> None:
        """Import the repetitions of a benchmark; `several`: its output reports iterations."""
        text = self.maker.line(chosen, settings).text
        for key, path in settings.places.items():
            if key == "invocations" or (key in ("iterations", "warmup") and (several or f"%({key})" in text)):
                self.ledger.carry(path)
            elif key in ("iterations", "warmup"):
                self.ledger.doubt(
                    path, "wall time of the whole command is one iteration, of which nothing is warm-up"
                )

    def add_spec(
        self,
        experiment: _Experiment,
        repetitions: tuple[int, int, int],
        members: list[tuple[Chosen, Settings]],
        several: bool,
    ) -> None:
        """Add one spec: the benchmarks of one experiment with the same repetitions."""
        name = clean(self.path.stem)
        if self.specs:
            name = f"{name}-{experiment.name}"
        name = Names(spec.name for spec in self.specs).free(name)
        suites, choices = self.maker.suites(members, name)
        if not suites:
            return
        if several or self.specs:
            self.ledger.change(
                experiment.path,
                f"its benchmarks with {repetitions[0]} invocations, {repetitions[1]} iterations and {repetitions[2]} "
                f"warm-up iterations are {name}.yml",
                key=f"experiments.{experiment.name}",
            )
        self.specs.append(
            SpecDraft(
                name,
                {
                    "name": name,
                    "question": self.maker.description(experiment.path),
                    "platforms": ["local"],
                    "benchmarks": choices,
                    "invocations": {"fixed": repetitions[0]},
                    "iterations": _iterations(repetitions[1], repetitions[2]),
                    "timeout_s": self.reader.limit_s(
                        [(one.places.get("max_invocation_time"), one.timeout_s) for _, one in members]
                    ),
                    # ReBench reads the complete output.
                    "output_kib": _OUTPUT_KIB,
                },
                suites,
                [f"Experiment `{experiment.name}`."],
            )
        )

    def chosen(self, experiment: _Experiment) -> Iterator[tuple[Chosen, Settings]]:
        """Yield every benchmark of an experiment with its executor and its settings."""
        reader = self.reader
        executions = reader.entries(
            (*experiment.path, "executions"), "executors, such as `executions: [name]`"
        )
        if len(executions) > 1:
            self.ledger.change(
                (*experiment.path, "executions"),
                "executors are measured in turns, as suites of their own: ratios with intervals are of runtimes, "
                "collectors and modifiers of one benchmark",
                "a JVM may become a runtime (`define`) and its suite `kind: java`, by hand",
            )
        for path, entry in executions:
            name, details = _named(entry)
            if name is None:
                reader.ledger.problem(path, "an executor's name, or `{name: {suites: [...]}}`", entry)
                continue
            if not reader.one_of(path, "an executor", name, reader.mapping(("executors",))):
                continue
            if details:
                self.ledger.look((*path, name))
            else:
                self.ledger.carry(path)
            within: list[KeyPath] = [("runs",), experiment.path]
            within += [(*path, name)] if details is not None else []
            listed = (
                (*path, name, "suites")
                if details is not None and "suites" in details
                else (*experiment.path, "suites")
            )
            for at, suite in reader.entries(listed, "suites, such as `suites: [name]`"):
                text = as_text(suite)
                if text is None or not reader.one_of(
                    at, "a benchmark suite", text, reader.mapping(("benchmark_suites",))
                ):
                    continue
                self.ledger.carry(at)
                yield from self.benchmarks(text, name, within)

    def benchmarks(
        self, suite: str, executor: str, within: list[KeyPath]
    ) -> Iterator[tuple[Chosen, Settings]]:
        """Yield the benchmarks of one suite on one executor."""
        at: KeyPath = ("benchmark_suites", suite)
        for path, entry in self.reader.entries(
            (*at, "benchmarks"), "benchmarks, such as `benchmarks: [Name]`"
        ):
            name, details = _named(entry)
            if name is None:
                self.ledger.problem(path, "a benchmark's name, or `{name: {extra_args: ...}}`", entry)
                continue
            own: KeyPath = (*path, name) if details is not None else path
            if details:
                self.ledger.look(own)
            else:
                self.ledger.carry(path)
            layers = [*within, ("executors", executor), at, *([own] if details is not None else [])]
            settings = Layers(self.reader, layers).settings()
            yield Chosen(suite, executor, name, own if details is not None else None, path), settings

    def anchors(self) -> None:
        """Mark the parts of anchors, which are keys with a dot, as imported if their aliases are."""
        used = {self.reader.document.marks.get(path) for path in self.ledger.carried | self.ledger.listed}
        for key in self.reader.document.value:
            if key.startswith("."):
                for path, mark in self.reader.document.marks.items():
                    if path[:1] == (key,) and mark in used:
                        self.ledger.carry(path)


def _named(entry: Any) -> tuple[str | None, dict[str, Any] | None]:
    """Parse `name`, or `{name: details}`."""
    if isinstance(entry, dict):
        if len(entry) != 1:
            return None, None
        ((name, details),) = entry.items()
        return (name, details or {}) if details is None or isinstance(details, dict) else (None, None)
    return as_text(entry), None


def _iterations(count: int, warmup: int) -> dict[str, Any]:
    found: dict[str, Any] = {"method": "fixed", "count": max(count, warmup + 1)}
    return found | ({"warmup": warmup} if warmup else {})


def _explain(path: KeyPath) -> tuple[str, str]:
    if path[0] in ("benchmark_suites", "executors") and len(path) == 2:
        return _UNUSED, "name it in an experiment, or leave it"
    if str(path[0]).startswith("."):
        return "ReBench itself ignores keys with a dot; what an alias brings elsewhere is carried there", ""
    if path[-1] in (
        "invocations",
        "iterations",
        "warmup",
        "env",
        "max_invocation_time",
        "input_sizes",
        "cores",
        "variable_values",
        "tags",
    ):
        return "another layer, nearer to the benchmarks or important, says it for all of them", ""
    return "Regatta has nothing that this key means", ""
