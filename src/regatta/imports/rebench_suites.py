"""Convert ReBench's suites on an executor to suite files, and the selection of an experiment to `benchmarks`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.imports.drafts import SuiteDraft
from regatta.imports.names import Names, clean
from regatta.imports.reader import Reader
from regatta.imports.rebench_adapters import Gauge, gauge_of
from regatta.imports.rebench_commands import Line, NotACommand, base_folder
from regatta.imports.rebench_settings import DIMENSIONS, Dimension, Settings
from regatta.imports.words import assignments, braces_doubled
from regatta.spec.yaml_lines import KeyPath

_PROGRAM = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_BUILD = (
    "a build runs its lines in a shell, and no shell reads Regatta's commands",
    "build it by hand before `regatta run`",
)


@dataclass(frozen=True)
class Chosen:
    """One benchmark of an experiment. `own`: the place of its details, if any; `path`: its entry."""

    suite: str
    executor: str
    name: str
    own: KeyPath | None
    path: KeyPath

    @property
    def suite_path(self) -> KeyPath:
        """Return the path of its suite."""
        return ("benchmark_suites", self.suite)

    @property
    def executor_path(self) -> KeyPath:
        """Return the path of its executor."""
        return ("executors", self.executor)


@dataclass
class _Made:
    """One converted benchmark: its body, and its crossed parameters."""

    name: str
    body: dict[str, Any]
    crossed: dict[str, list[Any]]


class Maker:
    """Makes suites. `base`: the folder of relative paths."""

    def __init__(self, reader: Reader, base: Path, home: Path) -> None:
        self.reader = reader
        self.ledger = reader.ledger
        self.base = base
        self.drafts: list[SuiteDraft] = []
        self.names = Names(file.stem for file in (home / "configs" / "suites").glob("*.yml"))

    def suites(
        self, members: Sequence[tuple[Chosen, Settings]], spec: str
    ) -> tuple[list[SuiteDraft], list[dict[str, Any]]]:
        """Return the suites of one spec, and its `benchmarks`."""
        pairs: dict[tuple[str, str], list[tuple[Chosen, Settings]]] = {}
        for chosen, settings in members:
            pairs.setdefault((chosen.suite, chosen.executor), []).append((chosen, settings))
        drafts, choices = [], []
        for (suite, executor), those in pairs.items():
            made = self.benchmarks(those)
            if made:
                draft = self.draft(suite, executor, made, spec)
                drafts.append(draft)
                choices += _choices(draft.name, made)
        return drafts, choices

    def draft(self, suite: str, executor: str, made: list[_Made], spec: str) -> SuiteDraft:
        """Return the suite of a pair; the identical one of another spec if it exists."""
        single = len(self.reader.mapping(("executors",))) == 1
        text = suite if single else f"{suite}-{executor}"
        described = [self.description(("benchmark_suites", suite)), self.description(("executors", executor))]
        body: dict[str, Any] = {"suite": ""}
        if any(described):
            body["description"] = "; ".join(filter(None, described))
        body["benchmarks"] = {one.name: one.body for one in made}
        for draft in self.drafts:
            if draft.body | {"suite": ""} == body and draft.comments == [
                f"Suite `{suite}` on executor `{executor}`."
            ]:
                return draft
        if clean(text) in {draft.name for draft in self.drafts}:
            text = f"{text}-{spec}"
        name = self.names.give(self.ledger, ("benchmark_suites", suite), "the suite", text)
        draft = SuiteDraft(name, body | {"suite": name}, [f"Suite `{suite}` on executor `{executor}`."])
        self.drafts.append(draft)
        return draft

    def description(self, path: KeyPath) -> str:
        """Return the description of an experiment, a suite or an executor."""
        for key in ("description", "desc"):
            text = self.reader.text((*path, key))
            if text:
                self.ledger.carry((*path, key))
                return " ".join(text.split())
        return ""

    def gauge(self, suite: str) -> Gauge:
        """Return the adapter of a suite's benchmarks."""
        path: KeyPath = ("benchmark_suites", suite, "gauge_adapter")
        value = self.reader.at(path)
        if isinstance(value, dict) and len(value) == 1:
            # A user's class can have the name of an adapter of ReBench, but is a different one.
            found = gauge_of(f"{next(iter(value))} of {next(iter(value.values()))}")
        else:
            found = gauge_of(self.reader.text(path, "gauge_adapter: RebenchLog") or "")
        for why, fix in found.notes:
            self.ledger.change(path, why, fix)
        self.ledger.carry(path)
        return found

    def benchmarks(self, those: Sequence[tuple[Chosen, Settings]]) -> list[_Made]:
        """Return the benchmarks of one suite on one executor."""
        first = those[0][0]
        for path in (first.suite_path, first.executor_path):
            if self.reader.has((*path, "build")):
                self.ledger.leave((*path, "build"), *_BUILD)
        if self.reader.has((*first.executor_path, "profiler")):
            fix = "`perf record` by hand, on a command that `regatta explain` prints"
            self.ledger.leave((*first.executor_path, "profiler"), "Regatta profiles nothing", fix)
        names = Names(["all"])
        made: list[_Made] = []
        for chosen, settings in those:
            try:
                made += self.made(chosen, settings, names, made)
            except NotACommand as error:
                path = (*chosen.suite_path, "command")
                if error.expected:
                    self.ledger.problem(path, error.expected, error.why, error.fix)
                else:
                    where = ".".join([*map(str, chosen.suite_path), chosen.name])
                    self.ledger.leave(chosen.path, error.why, error.fix, f"{where} ({chosen.executor})")
        return made

    def made(self, chosen: Chosen, settings: Settings, names: Names, before: list[_Made]) -> list[_Made]:
        """Convert one benchmark: to one, or to one per combination if a template cannot give all of them."""
        line = self.line(chosen, settings)
        gauge = self.gauge(chosen.suite)
        words = line.template()
        combinations = list(line.combinations())
        rest: dict[str, Any] = {**gauge.keys}
        if settings.environment:
            rest["environment"] = settings.environment
        if words is not None:
            found = [_Made(chosen.name, {"command": _with_program(words, settings)} | rest, {})]
            if combinations[0]:
                found[0].body["sizes"] = {"default": {"parameters": combinations[0]}}
            crossed = {DIMENSIONS[key][0]: list(settings.dimensions[key].values) for key in line.used()}
            found[0].crossed = {name: values for name, values in crossed.items() if len(values) > 1}
        else:
            found = []
            for values in combinations:
                command = _with_program([braces_doubled(word) for word in line.words(values)], settings)
                name = "-".join(
                    [chosen.name, *(str(v) for v in values.values() if len(combinations) > 1 and v != "")]
                )
                found.append(_Made(name, {"command": command} | rest, {}))
        for one in found:
            self.unidentified(chosen, one.body["command"])
        self.note(chosen, line, settings.dimensions)
        extra = str(self.reader.at((*chosen.own, "extra_args")) or "") if chosen.own else ""
        kept = []
        for one in found:
            if any(one.body == other.body and one.crossed == other.crossed for other in before):
                self.ledger.change(chosen.path, "the same benchmark a second time; it is measured once")
                continue
            text = f"{one.name} {extra}" if extra and clean(one.name) in names.taken else one.name
            one.name = names.give(self.ledger, chosen.path, "the benchmark", text)
            kept.append(one)
        return kept

    def unidentified(self, chosen: Chosen, command: Sequence[str]) -> None:
        """List the program of a command, if it is a path after `env`, and the archives of a JVM."""
        first = _first(command)
        program = command[first]
        if first and not program.startswith("{program."):
            self.ledger.unidentified((*chosen.executor_path, "executable"), [program])
        for word in command[first + 1 :]:
            if word.endswith(".jar"):
                self.ledger.unidentified((*chosen.suite_path, "command"), word.split(":"))

    def line(self, chosen: Chosen, settings: Settings) -> Line:
        """Return the command line of ReBench, from the executor, the suite and the benchmark."""
        reader = self.reader
        executor, suite = chosen.executor_path, chosen.suite_path
        folder = reader.text((*executor, "path")) or ""
        executable = reader.text((*executor, "executable"), "executable: java") or ""
        args = reader.text((*executor, "args")) or ""
        command = reader.text((*suite, "command"), 'command: "%(benchmark)s"') or ""
        location = reader.text((*suite, "location")) or folder
        own = chosen.own
        extra = (reader.text((*own, "extra_args")) or "") if own else ""
        called = (reader.text((*own, "command")) if own else None) or chosen.name
        self.ledger.carry(*((*executor, key) for key in ("path", "executable", "args")))
        self.ledger.carry((*suite, "command"), (*suite, "location"))
        if own:
            self.ledger.carry((*own, "extra_args"), (*own, "command"))
            if reader.has((*own, "codespeed_name")):
                self.ledger.leave((*own, "codespeed_name"), "Regatta reports to no Codespeed")
        program = executable
        if folder:
            program = f"{self.from_base(folder, quoted=not folder.startswith('~'))}/{executable}"
        text = " ".join(part for part in (program, args, command, extra) if part)
        fixed = {
            "benchmark": called, "executor": chosen.executor, "suite": chosen.suite,
            "iterations": settings.iterations, "warmup": settings.warmup,
        }  # fmt: skip
        return Line(text, self.from_base(location), fixed, settings.dimensions)

    def from_base(self, path: str, quoted: bool = False) -> str:
        """Return a path relative to the configuration's folder, as text in which `%(name)s` of the path itself are replaced."""
        whole = base_folder(path, Path(str(self.base).replace("%", "%%%%")))
        return shlex.quote(whole) if quoted else whole

    def note(self, chosen: Chosen, line: Line, dimensions: dict[str, Dimension]) -> None:
        """Record the differences from ReBench for one command."""
        used = line.used()
        for key, dimension in dimensions.items():
            if dimension.path is None:
                continue
            if key in used:
                self.ledger.carry(dimension.path)
            else:
                why = f"no command has `%({DIMENSIONS[key][0]})s`, so that its values are one measurement"
                self.ledger.doubt(dimension.path, why, "name it in the command")
        if "%(invocation)s" in line.text + line.location:
            path = (*chosen.suite_path, "command")
            why = "`%(invocation)s` is 1 in every invocation: the command of a cell is always the same"
            self.ledger.change(path, why, "let the program find a name of its own")


def _with_program(words: list[str], settings: Settings) -> list[str]:
    """Make programs found on PATH part of the measurement, unless the benchmark sets PATH."""
    first = _first(words)
    if "PATH" not in settings.environment and _PROGRAM.fullmatch(words[first]):
        words = [*words[:first], f"{{program.{words[first]}}}", *words[first + 1 :]]
    return words


def _first(words: Sequence[str]) -> int:
    """Return the index of the program, after `env --chdir=...` and variables."""
    first = 2 if words[0] == "env" else 0
    return first + assignments(words[first:])


def _choices(suite: str, made: list[_Made]) -> list[dict[str, Any]]:
    """Return the entries of `benchmarks`: one for all benchmarks with the same parameters."""
    alike: list[tuple[dict[str, list[Any]], list[str]]] = []
    for one in made:
        for crossed, names in alike:
            if crossed == one.crossed:
                names.append(one.name)
                break
        else:
            alike.append((one.crossed, [one.name]))
    return [
        {"suite": suite, "benchmark": names} | ({"parameters": crossed} if crossed else {})
        for crossed, names in alike
    ]
