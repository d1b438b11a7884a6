"""Convert ReBench's suites to suite files, its executors to runtimes, and a selection of both to the keys of a spec.

A benchmark has one command for each executor. Benchmarks of different suites are the same program if they have the same
name and arguments, and no executor runs both suites: so does Are We Fast Yet declare one program in several languages.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regatta.host.values.template import literal
from regatta.imports.drafts import SuiteDraft
from regatta.imports.reader import Reader
from regatta.imports.rebench_adapters import Gauge, gauge_of
from regatta.imports.rebench_settings import DIMENSIONS, Dimension, Line, NotACommand, Settings, base_folder
from regatta.imports.words import Names, assignments, clean
from regatta.spec.registries import read_registries
from regatta.spec.yaml_lines import KeyPath

_ON_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
#: starts the programs that no runtime can name: found on a separate PATH, or different for each benchmark
_ENV = "/usr/bin/env"
_RUNTIME = "{runtime}"
_BUILD = ("a build needs a shell, Regatta runs commands without a shell", "build before `regatta run`")
NO_PROFILER = ("Regatta does not profile", "run `perf record` on a command that `regatta explain` prints")


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


@dataclass(frozen=True)
class _Run:
    """One benchmark on one executor, converted."""

    chosen: Chosen
    runtime: str
    name: str
    #: arguments that ReBench adds for this benchmark
    extra: str
    #: keys of the benchmark that all executors share: adapter, parameters of the size
    keys: dict[str, Any]
    crossed: dict[str, list[Any]]
    #: with `{runtime}`
    command: list[str]
    environment: dict[str, str]
    #: the environment that the experiment gives all executors
    common: Any

    @property
    def work(self) -> str:
        """Return what another executor must have too, for its run to be one of the same program."""
        return json.dumps([self.name, self.extra, self.keys, self.crossed, self.common], sort_keys=True)


@dataclass
class _Program:
    """The runs of one program on several executors; `name` is its name in the suite file."""

    first: _Run
    runs: dict[str, _Run] = field(default_factory=dict)
    name: str = ""

    @property
    def suites(self) -> list[str]:
        """Return the suites that it is from."""
        return list(dict.fromkeys(run.chosen.suite for run in self.runs.values()))


class Maker:
    """Makes suites and runtimes. `base`: the folder of relative paths."""

    def __init__(self, reader: Reader, base: Path, home: Path) -> None:
        self.reader = reader
        self.ledger = reader.ledger
        self.base = base
        self.drafts: list[SuiteDraft] = []
        self.names = Names(file.stem for file in (home / "configs" / "suites").glob("*.yml"))
        self.runtime_names = Names(read_registries(home, []).runtimes)
        #: (executor, program, flags) -> name of the runtime
        self.runtimes: dict[tuple[str, str, tuple[str, ...]], str] = {}

    def keys(
        self, members: Sequence[tuple[Chosen, Settings]], spec: str
    ) -> tuple[list[SuiteDraft], dict[str, Any], list[str]]:
        """Return the suites of one spec, its keys that select measurements, and comments on its runtimes."""
        programs = self.programs([run for chosen, settings in members for run in self.runs(chosen, settings)])
        languages = _languages(programs)
        bodies: dict[str, dict[str, Any]] = {}
        told: list[str] = []
        for (executor, path, flags), name in self.runtimes.items():
            if name in languages:
                bodies[name] = {"kind": "program", "provider": "path", "path": path}
                bodies[name] |= {"flags": list(flags)} if flags else {}
                bodies[name] |= {"language": languages[name]} if languages[name] else {}
                described = self.description(("executors", executor))
                told += [f"Runtime `{name}`: {described}"] if described else []
        drafts, choices, exclude = [], [], []
        for those in _together(programs):
            draft = self.draft(those, languages, spec)
            drafts.append(draft)
            choices += _choices(draft.name, those)
            exclude += _excluded(draft.name, those, list(bodies))
        found = {
            "define": {"runtimes": bodies}, "runtimes": list(bodies), "benchmarks": choices, "exclude": exclude or None,
        }  # fmt: skip
        return drafts, found, told

    def programs(self, runs: Sequence[_Run]) -> list[_Program]:
        """Collect the runs of the same programs, and name these."""
        on: dict[str, set[str]] = {}
        for run in runs:
            on.setdefault(run.chosen.suite, set()).add(run.runtime)
        found: list[_Program] = []
        seen = set()
        for run in runs:
            key = json.dumps(
                [run.runtime, run.command, run.environment, run.keys, run.crossed], sort_keys=True
            )
            if key in seen:
                self.ledger.change(run.chosen.path, "duplicate benchmark, measured once")
                continue
            seen.add(key)
            there = next((program for program in found if _same(program, run, on)), None)
            if there is None:
                there = _Program(run)
                found.append(there)
            there.runs[run.runtime] = run
        for program in found:
            if len(program.suites) > 1:
                suites = ", ".join(f"`{suite}`" for suite in program.suites)
                why = (
                    f"`{program.first.chosen.name}` of {suites} is one benchmark, to compare their executors"
                )
                self.ledger.change(
                    program.first.chosen.path, why, "rename it in one of them, if the programs differ"
                )
        for those in _together(found):
            names = Names(["all"])
            for program in those:
                first = program.first
                again = first.extra and clean(first.name) in names.taken
                text = f"{first.name} {first.extra}" if again else first.name
                program.name = names.give(self.ledger, first.chosen.path, "the benchmark", text)
        return found

    def draft(self, those: Sequence[_Program], languages: dict[str, str], spec: str) -> SuiteDraft:
        """Return the suite of some programs; the identical one of another spec if it exists."""
        suites = list(dict.fromkeys(suite for program in those for suite in program.suites))
        described = list(filter(None, (self.description(("benchmark_suites", suite)) for suite in suites)))
        body: dict[str, Any] = {"suite": ""} | ({"description": "; ".join(described)} if described else {})
        body["benchmarks"] = {program.name: _body(program, languages) for program in those}
        comments = [f"Suites: {', '.join(f'`{suite}`' for suite in suites)}."]
        for draft in self.drafts:
            if draft.body | {"suite": ""} == body and draft.comments == comments:
                return draft
        if len(suites) > 1:
            name = self.names.free(spec)
        else:
            taken = clean(suites[0]) in {draft.name for draft in self.drafts}
            text = f"{suites[0]}-{spec}" if taken else suites[0]
            name = self.names.give(self.ledger, ("benchmark_suites", suites[0]), "the suite", text)
        draft = SuiteDraft(name, body | {"suite": name}, comments)
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

    def runs(self, chosen: Chosen, settings: Settings) -> list[_Run]:
        """Convert one benchmark on one executor: to one run, or to one per combination if no template gives all of them."""
        for path in (chosen.suite_path, chosen.executor_path):
            if self.reader.has((*path, "build")):
                self.ledger.leave((*path, "build"), *_BUILD)
        if self.reader.has((*chosen.executor_path, "profiler")):
            self.ledger.leave((*chosen.executor_path, "profiler"), *NO_PROFILER)
        try:
            return self.converted(chosen, settings)
        except NotACommand as error:
            path = (*chosen.suite_path, "command")
            if error.expected:
                self.ledger.problem(path, error.expected, error.why, error.fix)
            else:
                where = ".".join([*map(str, chosen.suite_path), chosen.name])
                self.ledger.leave(chosen.path, error.why, error.fix, f"{where} ({chosen.executor})")
            return []

    def converted(self, chosen: Chosen, settings: Settings) -> list[_Run]:
        """Convert one benchmark on one executor.

        Raises:
            NotACommand: its command cannot be imported.
        """
        line = self.line(chosen, settings)
        keys = dict(self.gauge(chosen.suite).keys)
        template = line.template()
        combinations = list(line.combinations())
        commands: list[tuple[str, list[str], dict[str, Any], dict[str, list[Any]]]] = []
        if template is not None:
            crossed = {DIMENSIONS[key][0]: list(settings.dimensions[key].values) for key in line.used()}
            crossed = {name: values for name, values in crossed.items() if len(values) > 1}
            size = {"sizes": {"default": {"parameters": combinations[0]}}} if combinations[0] else {}
            commands.append((chosen.name, template, size, crossed))
        else:
            for values in combinations:
                given = (str(v) for v in values.values() if len(combinations) > 1 and v != "")
                words = [literal(word) for word in line.words(values)]
                commands.append(("-".join([chosen.name, *given]), words, {}, {}))
        self.note(chosen, line, settings.dimensions)
        extra = str(self.reader.at((*chosen.own, "extra_args")) or "") if chosen.own else ""
        found = []
        for name, words, size, crossed in commands:
            runtime, command = self.on_runtime(chosen, settings, line, words)
            environment, common = settings.environment, settings.common
            found.append(
                _Run(chosen, runtime, name, extra, keys | size, crossed, command, environment, common)
            )
        return found

    def on_runtime(
        self, chosen: Chosen, settings: Settings, line: Line, words: list[str]
    ) -> tuple[str, list[str]]:
        """Return the runtime of a command, and the command with `{runtime}` in place of the runtime's words.

        Args:
            chosen: names the executor.
            settings: its environment can have a PATH.
            line: as in ReBench.
            words: the command, after `env --chdir=FOLDER` if it has a folder, as templates.
        """
        folder = words[1].removeprefix("--chdir=") if words[0] == "env" else ""
        head, rest = (words[:2], words[2:]) if folder else ([], words)
        start = line.start_words()
        if [literal(word) for word in start] != rest[: len(start)]:
            start = []
        # A flag has at least one character, and stands on one line.
        count = next((i for i, word in enumerate(start) if not word or not word.isprintable()), len(start))
        start, rest = start[:count], rest[count:]
        program = start[0] if start else ""
        if "/" in program:
            program = "" if "{" in folder and not program.startswith("/") else str(Path(folder) / program)
        elif "PATH" in settings.environment or not _ON_PATH.fullmatch(program):
            program = ""
        if assignments(start) or not program:
            program, flags = _ENV, start
            named = (start or rest)[assignments(start or rest) :]
            self.ledger.unidentified((*chosen.executor_path, "executable"), named[:1])
        else:
            flags = start[1:]
        for word in (*flags, *rest):
            if word.endswith(".jar"):
                self.ledger.unidentified((*chosen.suite_path, "command"), word.split(":"))
        return self.runtime(chosen, program, tuple(flags)), [*head, _RUNTIME, *rest]

    def runtime(self, chosen: Chosen, program: str, flags: tuple[str, ...]) -> str:
        """Return the name of an executor's runtime."""
        key = (chosen.executor, program, flags)
        if key not in self.runtimes:
            name = self.runtime_names.give(self.ledger, chosen.executor_path, "the executor", chosen.executor)
            self.runtimes[key] = name
        return self.runtimes[key]

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
                self.ledger.leave((*own, "codespeed_name"), "Regatta does not report to Codespeed")
        program = executable
        if folder:
            program = f"{self.from_base(folder, quoted=not folder.startswith('~'))}/{executable}"
        start = " ".join(part for part in (program, args) if part)
        text = " ".join(part for part in (start, command, extra) if part)
        fixed = {
            "benchmark": called, "executor": chosen.executor, "suite": chosen.suite,
            "iterations": settings.iterations, "warmup": settings.warmup,
        }  # fmt: skip
        return Line(text, (start, program), self.from_base(location), fixed, settings.dimensions)

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
                why = f"no command uses `%({DIMENSIONS[key][0]})s`, so all values give the same measurement"
                self.ledger.doubt(dimension.path, why, "use it in the command")
        if "%(invocation)s" in line.text + line.location:
            path = (*chosen.suite_path, "command")
            why = "`%(invocation)s` is 1 in every invocation, because the command of a cell never changes"
            self.ledger.change(path, why, "let the program create a unique name")


def _same(program: _Program, run: _Run, on: dict[str, set[str]]) -> bool:
    """Return whether a run is one of a program. `on`: the runtimes of each suite."""
    if run.runtime in program.runs or run.work != program.first.work:
        return False
    suites = {other.chosen.path: other.chosen.suite for other in program.runs.values()}
    if run.chosen.suite in suites.values():
        return run.chosen.path in suites
    return all(on[suite].isdisjoint(on[run.chosen.suite]) for suite in suites.values())


def _together(programs: Sequence[_Program]) -> list[list[_Program]]:
    """Group programs: those of one suite, and of suites that have a program in common."""
    groups: list[tuple[set[str], list[_Program]]] = []
    for program in programs:
        suites = set(program.suites)
        joined = [group for group in groups if group[0] & suites]
        if not joined:
            groups.append((suites, [program]))
            continue
        for other in joined[1:]:
            groups.remove(other)
            joined[0][1].extend(other[1])
        joined[0][0].update(suites, *(other[0] for other in joined[1:]))
        joined[0][1].append(program)
    return [those for _, those in groups]


def _command(run: _Run, alike: bool) -> list[str]:
    """Return the command of a run, which sets the environment itself if executors differ in it."""
    if alike or not run.environment:
        return run.command
    at = run.command.index(_RUNTIME)
    given = [literal(f"{name}={value}") for name, value in run.environment.items()]
    return [*(run.command[:at] or ["env"]), *given, *run.command[at:]]


def _alike(program: _Program) -> bool:
    """Return whether all executors of a program have the same environment."""
    return all(run.environment == program.first.environment for run in program.runs.values())


def _languages(programs: Sequence[_Program]) -> dict[str, str]:
    """Return runtime -> language; "" for all if every program has the same command on all its runtimes.

    Runtimes have the same language if they have the same commands. It is named after the first of them.
    """
    rows: dict[str, dict[int, list[str]]] = {}
    several = False
    for index, program in enumerate(programs):
        commands = {name: _command(run, _alike(program)) for name, run in program.runs.items()}
        several |= len(set(map(tuple, commands.values()))) > 1
        for name, command in commands.items():
            rows.setdefault(name, {})[index] = command
    return {
        name: next(other for other, commands in rows.items() if commands == row) if several else ""
        for name, row in rows.items()
    }


def _body(program: _Program, languages: dict[str, str]) -> dict[str, Any]:
    """Return one benchmark of a suite file."""
    alike = _alike(program)
    commands = {languages[name]: _command(run, alike) for name, run in program.runs.items()}
    if len(set(map(tuple, commands.values()))) > 1:
        found: dict[str, Any] = {"kind": "program", "commands": commands}
    else:
        found = {"kind": "program", "command": next(iter(commands.values()))}
    environment = {"environment": program.first.environment} if alike and program.first.environment else {}
    sizes = {key: value for key, value in program.first.keys.items() if key == "sizes"}
    return found | {k: v for k, v in program.first.keys.items() if k != "sizes"} | environment | sizes


def _excluded(suite: str, those: Sequence[_Program], runtimes: Sequence[str]) -> list[dict[str, Any]]:
    """Return `exclude` entries for the runtimes that do not run a suite, or a program of it."""
    found = []
    for runtime in runtimes:
        lacking = [program.name for program in those if runtime not in program.runs]
        if len(lacking) == len(those):
            found.append({"suite": suite, "runtime": runtime})
        else:
            found += [{"suite": suite, "benchmark": name, "runtime": runtime} for name in lacking]
    return found


def _choices(suite: str, those: Sequence[_Program]) -> list[dict[str, Any]]:
    """Return the entries of `benchmarks`: one for all benchmarks with the same parameters."""
    alike: list[tuple[dict[str, list[Any]], list[str]]] = []
    for program in those:
        for crossed, names in alike:
            if crossed == program.first.crossed:
                names.append(program.name)
                break
        else:
            alike.append((program.first.crossed, [program.name]))
    return [
        {"suite": suite, "benchmark": names} | ({"parameters": crossed} if crossed else {})
        for crossed, names in alike
    ]
