"""Import a ReBench configuration: one spec for all experiments, and more if benchmarks differ in their repetitions.

Executors become runtimes of the spec, so that they share blocks and get paired ratios.
Source of the format: ReBench's documentation and rebench-schema.yml (1.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from regatta.host.errors import Problem, SpecError
from regatta.imports.drafts import Imported, SpecDraft
from regatta.imports.reader import Reader, read_yaml_1_1
from regatta.imports.rebench_settings import DIMENSIONS, Layers, Settings
from regatta.imports.rebench_suites import NO_PROFILER, Chosen, Maker
from regatta.imports.words import Names, clean
from regatta.spec.problems import shown
from regatta.spec.yaml_lines import KeyPath, as_text

_OUTPUT_KIB = 1024
_UNUSED = "not used by any imported experiment"
_TOP = {
    "default_data_file": (
        "Regatta writes records to results/<experiment>/journal",
        "print them with `regatta records`",
    ),
    "build_log": ("Regatta writes logs to results/<experiment>/logs", ""),
    "artifact_review": ("it only silences warnings of ReBench", ""),
    "reporting": (
        "Regatta does not report to ReBenchDB or Codespeed",
        "see changes over time with `regatta history`",
    ),
    "machines": (
        "ReBench's command line selects a machine, an import cannot",
        "move its keys to `runs` before importing",
    ),
}
_EXPERIMENT = {"data_file": _TOP["default_data_file"], "reporting": _TOP["reporting"]}


@dataclass(frozen=True)
class _Experiment:
    name: str
    path: KeyPath


#: invocations, iterations, warm-up
_Repetitions = tuple[int, int, int]
_Member = tuple[_Experiment, Chosen, Settings]


def import_rebench(path: Path, home: Path) -> Imported:
    """Import a ReBench configuration. `home`: folder with `configs/`, whose names are taken.

    Returns:
        the specs, that of the default experiment first.

    Raises:
        SpecError: the file is wrong, or no part of it can be imported.
    """
    document = read_yaml_1_1(path)
    if not isinstance(document.value, dict):
        raise SpecError(
            [Problem(document.where(()), "a ReBench configuration (a mapping)", shown(document.value))]
        )
    return _Importer(Reader(document), path, home).imported()


class _Importer:
    def __init__(self, reader: Reader, path: Path, home: Path) -> None:
        self.reader = reader
        self.ledger = reader.ledger
        self.path = path
        self.home = home
        self.maker = Maker(reader, path.resolve().parent, home)
        self.specs: list[SpecDraft] = []

    def imported(self) -> Imported:
        self.reader.leave((), _TOP)
        if self.reader.has(("virtual_machines",)):
            fix = "rename the keys as ReBench's changelog says: `executors`, `executable`, `suites`, `invocations`"
            self.ledger.problem(("virtual_machines",), "keys of ReBench >= 1.0", "virtual_machines", fix)
            self.reader.refuse()
        self.reader.mapping(("benchmark_suites",), "a mapping of benchmark suites")
        self.reader.mapping(("executors",), "a mapping of executors")
        self.add_specs(
            [
                experiment
                for experiment in self.experiments()
                if self.reader.valid(experiment.path, partial(self.attempt, experiment))
            ]
        )
        self.anchors()
        needed = (("experiments",), "an experiment that can be imported")
        return self.reader.imported(self.path, "ReBench", self.specs, _explain, needed)

    def experiments(self) -> Iterator[_Experiment]:
        """Yield the experiments, the default one first."""
        table = self.reader.mapping(("experiments",), "a mapping of experiments")
        default = self.reader.text(("default_experiment",)) or "all"
        self.ledger.carry(("default_experiment",))
        if default != "all":
            self.reader.one_of(("default_experiment",), "an experiment, or `all`", default, table)
        for name in sorted(table, key=lambda name: name != default):
            yield _Experiment(name, ("experiments", name))

    def attempt(self, experiment: _Experiment, reader: Reader) -> None:
        """Convert one experiment alone, to find its problems."""
        _Importer(reader, self.path, self.home).add_specs([experiment])

    def add_specs(self, experiments: Sequence[_Experiment]) -> None:
        """Add the specs: one for all benchmarks of some experiments with the same repetitions."""
        groups: dict[_Repetitions, list[_Member]] = {}
        for experiment in experiments:
            if not self.measures(experiment):
                continue
            for chosen, settings in self.chosen(experiment):
                several = self.maker.gauge(chosen.suite).lines
                inner = (settings.iterations, settings.warmup) if several else (1, 0)
                self.repetitions(chosen, settings, several)
                groups.setdefault((settings.invocations, *inner), []).append((experiment, chosen, settings))
        for repetitions, members in groups.items():
            self.add_spec(repetitions, members, len(groups) > 1)

    def measures(self, experiment: _Experiment) -> bool:
        """Return whether an experiment measures, and list its keys without an equivalent."""
        reader, path = self.reader, experiment.path
        if not reader.mapping(path, "a mapping with `executions` and `suites`"):
            return False
        reader.leave(path, _EXPERIMENT)
        action = reader.text((*path, "action")) or "benchmark"
        if action == "profile":
            self.ledger.leave(path, *NO_PROFILER)
            return False
        if reader.has((*path, "action")) and reader.one_of(
            (*path, "action"), "an action", action, ["benchmark", "profile"]
        ):
            self.ledger.carry((*path, "action"))
        return True

    def repetitions(self, chosen: Chosen, settings: Settings, several: bool) -> None:
        """Import the repetitions of a benchmark; `several`: its output reports iterations."""
        text = self.maker.line(chosen, settings).text
        for key, path in settings.places.items():
            if key == "invocations" or (key in ("iterations", "warmup") and (several or f"%({key})" in text)):
                self.ledger.carry(path)
            elif key in ("iterations", "warmup"):
                self.ledger.doubt(
                    path, "the adapter measures the whole command as one iteration without warm-up"
                )

    def add_spec(self, repetitions: _Repetitions, members: list[_Member], several: bool) -> None:
        """Add one spec: the benchmarks with the same repetitions. `several`: there are further specs."""
        experiments = list(dict.fromkeys(experiment for experiment, _, _ in members))
        name = clean(self.path.stem)
        if self.specs:
            name = f"{name}-{experiments[0].name}"
        name = Names(spec.name for spec in self.specs).free(name)
        suites, keys, told = self.maker.keys([(chosen, settings) for _, chosen, settings in members], name)
        if not suites:
            return
        for experiment in experiments if several or len(experiments) > 1 else ():
            self.ledger.change(
                experiment.path,
                f"`{name}.yml` has its benchmarks with invocations `{repetitions[0]}`, iterations `{repetitions[1]}`, "
                f"warm-up `{repetitions[2]}`",
                key=f"experiments.{experiment.name}",
            )
        described = [self.maker.description(experiment.path) for experiment in experiments]
        self.specs.append(
            SpecDraft(
                name,
                {
                    "name": name,
                    "question": "; ".join(filter(None, described)),
                    "platforms": ["local"],
                    "invocations": {"fixed": repetitions[0]},
                    "iterations": _iterations(repetitions[1], repetitions[2]),
                    "timeout_s": self.reader.limit_s(
                        [(one.places.get("max_invocation_time"), one.timeout_s) for _, _, one in members]
                    ),
                    # ReBench reads the complete output.
                    "output_kib": _OUTPUT_KIB,
                    **keys,
                },
                suites,
                [f"Experiments: {', '.join(f'`{one.name}`' for one in experiments)}.", *told],
            )
        )

    def chosen(self, experiment: _Experiment) -> Iterator[tuple[Chosen, Settings]]:
        """Yield every benchmark of an experiment with its executor and its settings."""
        reader = self.reader
        executions = reader.entries(
            (*experiment.path, "executions"),
            "a list of at least 1 executor",
            "add an executor, or remove the experiment",
        )
        for path, entry in executions:
            name, details = _named(entry)
            if name is None:
                reader.ledger.problem(path, "the name of an executor, or `{name: {suites: [...]}}`", entry)
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
            for at, suite in reader.entries(
                listed, "a list of at least 1 benchmark suite", "add a suite, or remove the experiment"
            ):
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
            (*at, "benchmarks"), "a list of at least 1 benchmark", "write `benchmarks: [NAME]`"
        ):
            name, details = _named(entry)
            if name is None:
                self.ledger.problem(path, "the name of a benchmark, or `{name: {extra_args: ...}}`", entry)
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
        return _UNUSED, "name it in an experiment if it is needed"
    if str(path[0]).startswith("."):
        return "ReBench ignores keys that start with a dot; aliases of it are imported at their places", ""
    if path[-1] in ("invocations", "iterations", "warmup", "env", "max_invocation_time", *DIMENSIONS):
        return "overridden for every benchmark by an inner or important (`!`) setting", ""
    return "Regatta has no equivalent", ""
